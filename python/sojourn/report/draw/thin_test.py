from sojourn.report.draw.thin import thinned


def test_few_rows_are_all_drawn() -> None:
    rows = list(range(10))
    assert thinned(rows, most=10, group=lambda _: 0) == rows


def test_of_many_the_extremes_of_every_group_stay_and_the_rest_is_even() -> None:
    rows = [(load, (at * 7919) % 4001) for load in (0.1, 0.9) for at in range(2500)]
    drawn = thinned(
        rows, most=100, group=lambda r: r[0], extremes=[lambda r: r[1], lambda r: -r[1]]
    )
    assert 100 <= len(drawn) <= 104
    for load in (0.1, 0.9):
        every = [value for at, value in rows if at == load]
        selected = [value for at, value in drawn if at == load]
        assert {min(every), max(every)} <= set(selected)
        assert len(selected) >= 50
    assert drawn == [row for row in rows if row in set(drawn)]  # in order


def test_what_has_no_number_is_never_the_extreme_of_those_that_have() -> None:
    rows = [None, 1.0, None, 5.0, None, 2.0]
    assert 5.0 in thinned(rows, most=1, group=lambda _: 0, extremes=[lambda r: r])
