"""Command line: python -m vaulttools.cli COMMAND [options]

Exit codes: 0 clean, 1 findings, 2 wrong usage or settings, 3 deck unusable.
A command never changes a note; only `review` writes, and only the deck file.
"""

import argparse
import sys
from datetime import date
from pathlib import Path

from . import canvas_export, daily_rollup, duplicates, related, sm2_scheduler
from .config import ConfigError, VaultConfig
from .frontmatter_lint import lint
from .link_check import LinkChecker

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_DECK = range(4)


def cmd_links(args, config):
    checker = LinkChecker(args.vault, config)
    problems, orphans = checker.run(), checker.orphans()
    for problem in problems:
        print(problem)
    limit = config.get("links.maxOrphans")
    print(f"{len(checker.notes)} notes, {len(problems)} problems, {len(orphans)} orphans")
    if len(orphans) > limit:
        print(f"more than {limit} notes without any link: linking was skipped this week")
    return EXIT_FINDINGS if problems or len(orphans) > limit else EXIT_CLEAN


def cmd_lint(args, config):
    checker, count = LinkChecker(args.vault, config), 0
    for file, code, message in lint(checker.notes, config, silenced=args.silence):
        count += 1
        print(f"{file}: {code} {message}")
    return EXIT_FINDINGS if count else EXIT_CLEAN


def cmd_canvas(args, config):
    found = False
    for path in sorted(Path(args.vault, "Canvases").glob("*.canvas")):
        for problem in canvas_export.checkCanvas(path, args.vault):
            found = True
            print(f"{path.name}: {problem}")
    shared = canvas_export.sharedFiles(Path(args.vault, "Canvases").glob("*.canvas"))
    for file, names in shared.items():
        print(f"{file} <- {', '.join(names)}")
    return EXIT_FINDINGS if found else EXIT_CLEAN


def cmd_duplicates(args, config):
    checker = LinkChecker(args.vault, config)
    bodies = {file: note.body for file, note in checker.notes.items()}
    pairs = list(duplicates.find_duplicates(bodies, config))
    for one, two, value in pairs:
        print(f"{value:.2f}  {one}  {two}")
    return EXIT_FINDINGS if pairs else EXIT_CLEAN


def cmd_week(args, config):
    print(daily_rollup.roll_up(args.vault, args.day, config.get("rollup.headings")))
    days = daily_rollup.week_of(args.day)
    still_open, done = daily_rollup.task_balance(args.vault, days[0], days[-1])
    print(f"Tasks: {done} done, {still_open} open")
    return EXIT_CLEAN


def cmd_related(args, config):
    checker, boards = LinkChecker(args.vault, config), {}
    for path in Path(args.vault, "Canvases").glob("*.canvas"):
        nodes, _ = canvas_export.loadCanvas(path)
        boards[path.name] = [n["file"] for n in nodes.values() if n["type"] == "file"]
    votes = related.pair_votes(related.collect_sources(checker, boards))
    for score, partner in related.top_related(args.note, votes):
        print(f"{score:.3f}  {partner}")
    return EXIT_CLEAN


def cmd_review(args, config):
    path = Path(args.vault) / config.get("flashcards.deckFile")
    deck = sm2_scheduler.load_deck(path)
    known = {card.number: index for index, card in enumerate(deck)}
    if args.card not in known:
        print(f"no card {args.card}; {len(deck)} cards in {path.name}", file=sys.stderr)
        return EXIT_USAGE
    index = known[args.card]
    deck[index] = sm2_scheduler.review(deck[index], args.grade, args.day, config)
    sm2_scheduler.save_deck(deck, path)
    print(f"{args.card}: again on {deck[index].due}, ease {deck[index].ease:.2f}")
    return EXIT_CLEAN


def build_parser():
    parser = argparse.ArgumentParser(prog="vaulttools")
    parser.add_argument("--vault", default=".", help="root of the vault")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("links", "canvas", "duplicates"):
        commands.add_parser(name)
    commands.add_parser("lint").add_argument("--silence", action="append", default=[], metavar="FM0x")
    commands.add_parser("related").add_argument("note")
    week = commands.add_parser("week")
    week.add_argument("--day", type=date.fromisoformat, default=date.today())
    again = commands.add_parser("review")
    again.add_argument("card")
    again.add_argument("grade", type=int, choices=range(4))
    again.add_argument("--day", type=date.fromisoformat, default=date.today())
    return parser


def main(argv=None):
    args = build_parser().parse_args(argv)
    try:
        return globals()[f"cmd_{args.command}"](args, VaultConfig.load(args.vault))
    except (ConfigError, daily_rollup.RollupError, canvas_export.CanvasError) as error:
        print(f"vaulttools: {error}", file=sys.stderr)
        return EXIT_USAGE
    except sm2_scheduler.DeckError as error:
        print(f"vaulttools: {error}", file=sys.stderr)
        return EXIT_DECK


if __name__ == "__main__":
    sys.exit(main())
