--- The second number under `scripts/test --full`, which sets BERTH_FULL; else the first.
return function(few, all) return os.getenv "BERTH_FULL" and all or few end
