"""`python -m bertviz_lite`: the shell."""

from bertviz_lite.commands import main

if __name__ == "__main__":
    main()
