"""Which change is measured, by the environment of a CI system.

These are texts of strangers, of bounded length. A branch, for example, has the name that the
author of a pull request gave it. They are stored as they are. Code that shows them spells out what
would control a terminal or a page.
"""

from __future__ import annotations

from collections.abc import Mapping

TEXT_MOST = 200  # characters of each

#: What is stored, and the variables that hold it, the first one that is set: our own, GitHub,
#: GitLab, Azure, Bitbucket, Buildkite, CircleCI, Drone, Jenkins.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "commit": (
        "SOJOURN_COMMIT",
        "GITHUB_SHA",
        "CI_COMMIT_SHA",
        "BUILD_SOURCEVERSION",
        "BITBUCKET_COMMIT",
        "BUILDKITE_COMMIT",
        "CIRCLE_SHA1",
        "DRONE_COMMIT_SHA",
        "GIT_COMMIT",
    ),
    "label": (
        "SOJOURN_LABEL",
        "GITHUB_HEAD_REF",
        "GITHUB_REF_NAME",
        "CI_COMMIT_REF_NAME",
        "BUILD_SOURCEBRANCHNAME",
        "BITBUCKET_BRANCH",
        "BUILDKITE_BRANCH",
        "CIRCLE_BRANCH",
        "DRONE_BRANCH",
        "GIT_BRANCH",
    ),
}


def read(environment: Mapping[str, str]) -> dict[str, str]:
    """Commit and label of the change; what is not known is missing.

    Args:
        environment: of the lab, such as `os.environ`.

    >>> read({"GITHUB_SHA": "3fa1", "GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "main"})
    {'commit': '3fa1', 'label': 'main'}
    """
    texts = {}
    for what, names in VARIABLES.items():
        text = next((environment[name] for name in names if environment.get(name)), "")
        # An environment may hold bytes that are no text; these would stop the writing of JSON.
        if text := text.encode("utf-8", "replace").decode()[:TEXT_MOST].strip():
            texts[what] = text
    return texts
