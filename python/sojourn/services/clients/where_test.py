"""Targets as people type them: what they mean, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.services.clients import where
from sojourn.services.clients.where import Where


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost:8080", "http://localhost:8080/"),
        ("https://h/a?b=c#d", "https://h:443/a?b=c"),
        ("http://h/a,b?at=48.2,16.4,", "http://h:80/a,b?at=48.2,16.4,"),
        ("http://h?x=a,b", "http://h:80/?x=a,b"),
        ("http://h:/x", "http://h:80/x"),
        ("http://h/ü/%C3%9F?a=b|c", "http://h:80/%C3%BC/%C3%9F?a=b|c"),
        ("redis:6379", "://redis:6379"),
        ("memcache://h:,g:2", "memcache://h:11211,g:2"),
        ("http://bücher.example/", "http://xn--bcher-kva.example:80/"),
        ("http://unix:/run/a,b:/c,d", "http://unix:/run/a,b:/c,d"),
        ("redis://h", "redis://h:6379"),
        ("memcache://h,g:2", "memcache://h:11211,g:2"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("HTTP://h?x", "http://h:80/?x"),
        ("h2c://h/a", "h2c://h:80/a"),
        ("h2://h", "h2://h:443/"),
        ("grpc://h/a.B/C", "grpc://h:50051/a.B/C"),
        ("grpc://unix:/run/a:/a.B/C", "grpc://unix:/run/a:/a.B/C"),
        ("http://unix:/run/a:/b#c", "http://unix:/run/a:/b"),
        ("redis://h/2", "redis://h:6379/2"),
        ("redis://h/", "redis://h:6379"),
        ("rediss://h", "rediss://h:6379"),
        ("valkeys://h:1/2", "rediss://h:1/2"),
        ("redis://me@h", "redis://me@h:6379"),
        ("rediss://me@unix:/run/a:/2", "rediss://me@unix:/run/a:/2"),
        ("memcache://h/foo?timeout=3", "memcache://h:11211/foo?timeout=3"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]:80/"),
    ],
)
def test_targets_are_read_as_people_type_them(text: str, url: str) -> None:
    assert where.parse(text, at="t").url == url


def test_a_socket_and_a_bare_port_say_no_protocol() -> None:
    assert where.parse("unix:/run/a.sock", at="t") == Where(scheme="", socket=Path("/run/a.sock"))
    assert where.parse("localhost:8080", at="t") == Where(scheme="", host="localhost", port=8080)
    typed = where.parse("http://unix:/run/a.sock:/x", at="t")
    assert (typed.scheme, typed.socket, typed.path) == ("http", Path("/run/a.sock"), "/x")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("http://a b/", "space"),
        ("http://", "no host"),
        ("http://:80/", "no host"),
        ("localhost", "no port"),
        ("http://h:0/", "'0' is not a port"),
        ("http://h:99999/", "'99999' is not a port from"),
        ("http://h:x/", "'x' is not a port"),
        ("http://::1:80/", "brackets"),
        ("http://me:secret@h/", "password"),
        ("redis://:secret@h", "password"),
        ("memcache://h,g:0", "'0' is not a port"),
        ("http:h", "two slashes"),
        ("HTTPS:/h/x", "two slashes"),
        ("ws://h/", "no protocol is called 'ws'"),
        ("ws://h:8080/", "no protocol is called 'ws'"),
        ("wss://[::1]:8080/x", "no protocol is called 'wss'"),
        ("redisx://h", "no protocol is called 'redisx'"),
        ("http://a..b:80/", "'a..b' is not a name of a host"),
        (f"http://{'a' * 64}.example/", "is not a name of a host"),
        ("redis://:se/secret@h", "password"),
        ("redis://:secret/cret@h", "password"),
        ("http://me:a//secret@h:80/", "password"),
        ("redis://:my secret@h", "a space"),
        ("redis:me:secret@h", "two slashes"),
        ("foo://me:secret@h", "no protocol is called 'foo'"),
        ("mysql://me:secret@h:3306/shop", "no protocol is called 'mysql'"),
        ("redis://me:secret@h", "password does not belong in it"),
        ("memcache://h,", "no host"),
        ("memcache://h,,g", "no host"),
        ("memcache://h,/", "no host"),
        ("postgres://me:secret@h/shop", "password does not belong in it"),
    ],
)
def test_what_is_no_target_is_refused_with_one_that_is(text: str, why: str) -> None:
    with pytest.raises(SpecFault, match=why) as caught:
        where.parse(text, at="here")
    assert caught.value.at == "here"
    assert caught.value.fix
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("http://h/", "h"),
        ("http://h:8080/", "h:8080"),
        ("https://h/", "h"),
        ("https://h:80/", "h:80"),
        ("h2c://h/", "h"),
        ("h2://h:443/", "h"),
        ("http://[::1]/", "[::1]"),
        ("http://[fe80::1%25eth0]:81/", "[fe80::1]:81"),
        ("grpc://h/a.B/C", "h:50051"),
        ("http://unix:/run/a:/b", "localhost"),
    ],
)
def test_a_request_names_its_host_without_the_usual_port_and_zone(text: str, named: str) -> None:
    assert where.parse(text, at="t").named == named


def test_a_database_is_named_with_who_asks_and_a_password_is_not_shown() -> None:
    local = where.parse("postgresql://me@unix:/run/.s.PGSQL.5432:/shop", at="")
    assert local.url == "postgres://me@unix:/run/.s.PGSQL.5432:/shop"
    assert where.parse("postgres://db/shop", at="").url == "postgres://db:5432/shop"
    with pytest.raises(SpecFault) as caught:
        where.parse("postgres://me:secret@h/shop", at="")
    assert "secret" not in str(caught.value)
    assert "password:file:PATH" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("redis://app:pw@h", ": a password does not", "redis://USER@HOST, .*--auth password:file:"),
        ("postgres://me:pw@h/d", ": a password does not", "postgres://USER@HOST, .*--auth"),
        ("http://me:pw@h/", ": a name or password does not", "leave it out, .*--auth basic:env:"),
    ],
)
def test_who_may_name_a_user_is_shown_how(text: str, what: str, fix: str) -> None:
    with pytest.raises(SpecFault, match=what) as caught:
        where.parse(text, at="x")
    assert re.search(fix, caught.value.fix)
