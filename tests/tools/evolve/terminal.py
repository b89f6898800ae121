#!/usr/bin/env python3
"""Runs a program on a terminal of its own and replays what it writes on a model of a screen.

    terminal.py COLUMNS[,COLUMNS_LATER] SCREEN BYTES [-i SECONDS] PROGRAM ARGUMENT...

The screen at the end goes to the file SCREEN, what was written to BYTES. With a second width the terminal is resized
when the program has drawn ten times; its screen then wraps rows that are too long, as terminals do. With -i, Ctrl-C is
typed after so many seconds, or as -i WORD when WORD is on the screen. The exit code is the program's; 99 if the model meets something that it does not
know.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROWS = 24
MOST_SECONDS = 300
TOKEN = re.compile(rb"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([\x20-\x7e]+)|([\x80-\xff]+)|(.)", re.S)


class Screen:
    def __init__(self, columns):
        self.columns = columns
        self.rows = [""]
        self.wrapped = [False]  # whether a row goes on in the next
        self.row = self.column = 0

    def feed(self, data):
        for token in TOKEN.finditer(data):
            numbers, command, control, text, high, other = token.groups()
            if other is not None:
                sys.exit(f"unknown byte {other!r}")
            if command is not None:
                self.sequence(numbers, command)
            elif control == b"\r":
                self.column = 0
            elif control == b"\n":
                self.down()
            else:
                for letter in (text or high).decode("utf-8", "replace"):
                    self.put(letter)

    def sequence(self, numbers, command):
        if command == b"m":
            return
        if command == b"J" and numbers in (b"", b"0"):
            self.rows[self.row] = self.rows[self.row][: self.column]
            del self.rows[self.row + 1 :], self.wrapped[self.row + 1 :]
            self.wrapped[self.row] = False
        elif command == b"K" and numbers in (b"", b"0"):
            self.rows[self.row] = self.rows[self.row][: self.column]
        else:
            sys.exit(f"unknown sequence {numbers!r} {command!r}")

    def down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")
            self.wrapped.append(False)

    def put(self, letter):
        if self.column == self.columns:
            self.wrapped[self.row] = True
            self.down()
            self.column = 0
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + letter + row[self.column + 1 :]
        self.column += 1

    def resize(self, columns):
        """Wraps anew. The cursor stays at its letter."""
        rows, wrapped, at = [], [], None
        line, before = "", 0
        for number, row in enumerate(self.rows):
            if number == self.row:
                at = before + len(line) + self.column
                line_at = len(rows)
            line += row
            if self.wrapped[number]:
                continue
            pieces = [line[i : i + columns] for i in range(0, len(line), columns)] or [""]
            if at is not None and line_at == len(rows):
                self_row = len(rows) + min(at // columns, len(pieces) - 1)
                self_column = at % columns
            rows += pieces
            wrapped += [True] * (len(pieces) - 1) + [False]
            line = ""
        self.rows, self.wrapped, self.columns = rows, wrapped, columns
        self.row, self.column = self_row, self_column


def set_size(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))


def main(widths, screen_file, bytes_file, interrupt, command):
    child, terminal = pty.fork()
    if child == 0:
        set_size(0, widths[0])
        os.execvp(command[0], command)
    screen = Screen(widths[0])
    written, pending = b"", b""
    begun, interrupted = time.monotonic(), False
    while time.monotonic() < begun + MOST_SECONDS:
        ready, _, _ = select.select([terminal], [], [], 0.1)
        try:
            data = os.read(terminal, 1 << 16) if ready else b""
        except OSError:  # the program is over
            break
        written += data
        pending += data
        # A sequence that a read cuts waits for its rest.
        cut = pending.rfind(b"\x1b", -8)
        whole = pending if cut < 0 or TOKEN.match(pending, cut) and TOKEN.match(pending, cut)[2] else pending[:cut]
        screen.feed(whole)
        pending = pending[len(whole) :]
        if len(widths) > 1 and written.count(b"\x1b[J") >= 10 and screen.columns != widths[1]:
            screen.resize(widths[1])
            set_size(terminal, widths[1])
        if interrupt is not None and not interrupted:
            due = time.monotonic() > begun + float(interrupt) if interrupt[0].isdigit() else \
                interrupt in "\n".join(screen.rows)
            if due:
                interrupted = True
                os.write(terminal, b"\x03")
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with open(screen_file, "w") as file:
        file.write("\n".join(screen.rows) + "\n")
    with open(bytes_file, "wb") as file:
        file.write(written)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sizes = [int(each) for each in arguments[0].split(",")]
    when = arguments[4] if arguments[3] == "-i" else None
    sys.exit(main(sizes, arguments[1], arguments[2], when, arguments[5:] if when else arguments[3:]))
