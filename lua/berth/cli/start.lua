-- What scripts/berth runs.
os.exit(require("berth.cli.main").run(arg))
