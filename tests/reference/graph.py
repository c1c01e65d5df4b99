"""What a row is worth in the graph of replies: every way that leads to it, the best counts."""


def graph_values(parent, author, end, question_parent, question_row, own_authors, parameters):
    """By row, above 0, without the question: see `backscroll_scoring.graph_scores`."""
    p, n = parameters, len(parent)
    recent = [row for row in range(max(0, end - p.reach), end) if author[row] in own_authors]
    worth = dict.fromkeys(recent[len(recent) - min(len(recent), p.own_lines) :], p.own)
    if 0 <= question_row < end:
        worth[question_row] = 1.0
    row, value, seen = question_parent, 1.0, set()
    while 0 <= row < n and row not in seen and question_parent < end and len(seen) < p.max_up:
        seen.add(row)
        if row < end:
            worth[row] = max(value, worth.get(row, 0.0))
        row, value = parent[row], value * p.up
    best = {row: _best(row, parent, end, worth, p) for row in range(end) if row != question_row}
    return {row: value for row, value in best.items() if value > 0}


def _best(row, parent, end, worth, p):
    """The row itself, or what stands above it in at most `max_down` steps and at most `reach` rows away."""
    best, factor, above = 0.0, 1.0, row
    for _ in range(p.max_down + 1):
        if not 0 <= above < end:
            break
        if abs(above - row) <= p.reach:
            best = max(best, worth.get(above, 0.0) * factor)
        above, factor = parent[above], factor * p.down
    return best
