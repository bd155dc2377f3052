--- What the choices are: placers with their variants, and the values of options. docs/placers.md has the same words.
local rules = {}

--- Each: name, variant ("": the plain form), rule, source, good (when to use it), weak (known weakness).
rules.placers = {
  { name = "single", variant = "",
    rule = "All ops on the device that runs them in the least total time within its memory; option device: on that one.",
    source = "trivial baseline",
    good = "First: what does not beat it is not worth several devices.",
    weak = "Refuses a graph that is too large for one device." },
  { name = "round-robin", variant = "",
    rule = "Op k in topological order goes to device k modulo n, or the next one that can take it; colocation groups as "
      .. "wholes.",
    source = "trivial baseline",
    good = "To see what transfers cost when nobody avoids them.",
    weak = "Looks at no time and no tensor." },
  { name = "random", variant = "",
    rule = "Every op on any of the devices that can take it, with equal chance (seed); colocation groups as wholes.",
    source = "trivial baseline",
    good = "As a floor for comparisons, and as a start for search.",
    weak = "Looks at no time and no tensor." },
  { name = "metis", variant = "",
    rule = "Cuts the graph into one part per device: shares of the work as the devices' speeds, little transfer time "
      .. "across the cuts.",
    source = "Karypis, Kumar 1998 (multilevel k-way partitioning)",
    good = "Wide graphs, and where links are slow: it moves little.",
    weak = "Does not know the order of ops: parts of equal work may run one after the other." },
  { name = "m-topo", variant = "",
    rule = "Fills device after device in topological order, each up to an equal share of the memory, within real limits.",
    source = "Jeon et al. 2020 (Baechi), corrected",
    good = "Models that one device cannot hold: few crossings, in milliseconds.",
    weak = "Looks at no time; devices wait for one another." },
  { name = "m-topo", variant = "baechi-tf",
    rule = "As the published TensorFlow program: the share counts outputs and workspace, real limits are never tested.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures.",
    weak = "May overfill a device; the simulator then tells." },
  { name = "m-topo", variant = "baechi-pt",
    rule = "As the published PyTorch program: the share counts permanent memory only, ops go by id, real limits are "
      .. "never tested.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures.",
    weak = "May overfill a device, or find no place though there is room." },
  { name = "m-etf", variant = "",
    rule = "Walks through the plan's time; of the ready ops and all devices the pair that starts first. Ties: longest "
      .. "remaining path, then the device that holds most of the inputs.",
    source = "Jeon et al. 2020 (Baechi), with the ties of ETF",
    good = "Equal devices and tight memory.",
    weak = "Ignores how fast a device is: a slow idle one is taken before a fast one that is free a little later." },
  { name = "m-etf", variant = "baechi-tf",
    rule = "As the published TensorFlow program: half-duplex channels, 1 us quantum, optimistic arrivals, ties by "
      .. "topological number, memory as it counts it.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures, with the preset baechi-tf.",
    weak = "As m-etf; copies of tensors are not charged." },
  { name = "m-etf", variant = "baechi-pt",
    rule = "As the published PyTorch program: transfers without contention, ties by topological number, memory as it "
      .. "counts it.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures, with the preset baechi-pt.",
    weak = "As m-etf." },
  { name = "m-sct", variant = "",
    rule = "As m-etf, but an idle device waits for the favourite child of the op it ran last, once all producers of that are "
      .. "placed and while it could start nowhere earlier; meanwhile it runs only what has its inputs everywhere and is left "
      .. "over by other idle devices. Options favourites, tau, gap, ties.",
    source = "Jeon et al. 2020 (Baechi); Hanen, Munier 1995; favourites by our own solver",
    good = "Equal devices, transfers about as long as ops: it keeps chains together.",
    weak = "The program knows no memory, no contention and no shared transfers; with very long transfers m-etf may be better." },
  { name = "m-sct", variant = "baechi-tf",
    rule = "As the published TensorFlow program: as m-etf there, with tau 0.1; a device waits once all producers of the "
      .. "favourite have finished; an op is urgent only if it could start on every device at once, busy ones included.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures, with the preset baechi-tf.",
    weak = "As m-etf there; the answer depends on which of many optimal solutions the program has." },
  { name = "m-sct", variant = "baechi-pt",
    rule = "As the published PyTorch program: as m-etf there, with tau 0.5, waiting and urgency as in baechi-tf.",
    source = "Jeon et al. 2020, published code",
    good = "To reproduce its figures, with the preset baechi-pt.",
    weak = "As m-etf; the answer depends on which of many optimal solutions the program has." },
  { name = "etf", variant = "",
    rule = "Of all ops whose producers are placed and all devices, the pair that starts first. Ties: longest remaining "
      .. "path.",
    source = "Hwang, Chow, Anger, Lee 1989",
    good = "Equal devices, many ops ready at once.",
    weak = "Ignores how fast a device is; a long path gets no head start but in ties." },
  { name = "heft", variant = "",
    rule = "Ops by the longest remaining path of mean times and mean transfers; each where it finishes first, gaps "
      .. "included.",
    source = "Topcuoglu, Hariri, Wu 2002",
    good = "Devices of different speed; a good first choice.",
    weak = "Looks one op ahead; mean times mislead where devices or links differ much." },
  { name = "cpop", variant = "",
    rule = "The critical path of mean times stays on the one device that runs it fastest; other ops go where they "
      .. "finish first.",
    source = "Topcuoglu, Hariri, Wu 2002",
    good = "One dominant chain.",
    weak = "With several long chains that device becomes the bottleneck." },
  { name = "peft", variant = "",
    rule = "As HEFT, but finish plus the optimistic cost of what follows decides, from a table of the least that is "
      .. "left to do.",
    source = "Arabnejad, Barbosa 2014",
    good = "Where a good finish now costs much later: dear transfers, unlike devices.",
    weak = "The table knows no waiting and takes every consumer by itself." },
  { name = "minmin", variant = "",
    rule = "Of all ops whose producers are placed, the one that can finish first of all, where it does.",
    source = "Ibarra, Kim 1977",
    good = "Many short, independent ops.",
    weak = "Long ops are left for the end, on critical paths too." },
  { name = "blevel", variant = "",
    rule = "Walks through the plan's time; of the ready ops the one of longest remaining path (mean times, no "
      .. "transfers), where it finishes first.",
    source = "Adam, Chandy, Dickson 1974 (HLFET)",
    good = "Cheap links, deep graphs.",
    weak = "The order does not know transfers; gaps are not filled." },
  { name = "critical-path", variant = "",
    rule = "Of the candidates the op of longest remaining path, transfers included; where it starts first; ties at "
      .. "random, best of `tries`.",
    source = "Kwok, Ahmad 1999, as the baseline of Yao et al. 2026 (DOPPLER)",
    good = "Equal devices; many tries as a cheap search.",
    weak = "Ignores how fast a device is." },
  { name = "critical-path", variant = "code",
    rule = "As the published program: with k ops of longest path one of the first k candidates is taken, devices are "
      .. "judged by their load alone.",
    source = "Yao et al. 2026, published code",
    good = "To reproduce its figures, with the preset doppler.",
    weak = "Worse than the paper's own rule; makes no plan, so no estimate." },
  { name = "enumerative", variant = "",
    rule = "Meta-ops (runs of ops of one kind, time, depth and number of inputs) in order of depth: the ops of "
      .. "one go to different devices, as many as there are at a time, by the assignment of least total time "
      .. "to move inputs that are not there yet.",
    source = "Yao et al. 2026 (DOPPLER), its enumerative optimizer; by Kuhn 1955 (assignment) in place of "
      .. "enumeration",
    good = "Graphs whose operators are split into equal blocks, equal devices.",
    weak = "Looks at one meta-op at a time; where there are none it deals out ops of one depth." },
  { name = "enumerative", variant = "enumerate",
    rule = "The same by trying all assignments, up to 8 devices: as good in each round, ties may fall otherwise.",
    source = "Yao et al. 2026",
    good = "To see that the plain form loses nothing.",
    weak = "Slow on 8 devices; with more it is the plain form." },
  { name = "enumerative", variant = "blocks",
    rule = "As the plain form walks, but partial products are placed with their sum: dealt out to 1, 2, 4, ... "
      .. "neighbouring devices in turn, the sum on one of them, so that the busiest device of the operator has "
      .. "least to do, moved inputs included.",
    source = "einsummable runtime, its function alocate01",
    good = "Matrix products split along the summed index: it makes dear partial products where they are summed.",
    weak = "Balances each operator by itself." },
  { name = "enumerative", variant = "greedy",
    rule = "Each op on the device that keeps the largest load least, where moved inputs load both ends.",
    source = "einsummable runtime, its function alocate02",
    good = "As a yardstick of blocks.",
    weak = "Loads say nothing about when." },
  { name = "exact", variant = "",
    rule = "On free links: the list placers, list schedules pushed to and fro where devices are alike and nothing takes "
      .. "time to cross, then branch and bound; berth.exact tells what is proved.",
    source = "Fernandez, Bussell 1973; Valls, Ballestin, Quintanilla 2005; branch and bound by our own rules",
    good = "Up to some 20 ops with transfers, and schedules of hundreds of ops on identical processors.",
    weak = "With more ops it stops at a count of partial schedules; other links only judge its devices." },
  { name = "anneal", variant = "",
    rule = "Contracts ops into units along heavy tensors and light lines; from the best of two placements of units and what "
      .. "quick placers answer, or `start`, moves units (at first larger ones) and ops at random and along the critical chain, "
      .. "worse placements ever more rarely accepted; `calls` simulations or `seconds`.",
    source = "Kirkpatrick, Gelatt, Vecchi 1983; moves and contraction by our own rules",
    good = "When an answer may cost thousands of simulations; behind others, from what they found.",
    weak = "No bound on how far it stays from the best; on huge graphs a call is dear." },
  { name = "local", variant = "",
    rule = "Descents from the same starts: units to other devices, then ops, as long as something "
      .. "improves (`steepest`: the best move each time); then again from random placements.",
    source = "",
    good = "Tiny graphs, and as a yardstick of anneal.",
    weak = "Stays in the first valley of each start." },
  { name = "brkga", variant = "",
    rule = "From the same starts and random ones, generations of placements of the units: `elite` of them stay, `mutants` are "
      .. "drawn anew, the rest take each unit's device from an elite parent with probability `bias`, else from another.",
    source = "Goncalves, Resende 2011 (biased random-key genetic algorithms)",
    good = "As a yardstick of anneal; wide graphs of few units on many cores.",
    weak = "Slower than anneal at the same calls: what a unit's neighbours do is lost in crossing; single ops do not move." },
  { name = "portfolio", variant = "",
    rule = "Runs the trivial ones, m-etf and m-sct with several sets of favourites and tie rules, and all others but "
      .. "random and the variants, some of them also on sets of ops (coarsen) or with weighed transfers (transfer_weight); "
      .. "simulates each answer, keeps the best. The default.",
    source = "",
    good = "Whenever a few times the cost of one placer does not matter.",
    weak = "No better than its best member, under the simulation that judges." },
}

--- Values of options.
rules.values = {
  { option = "links", name = "free",
    rule = "No contention: every transfer takes latency plus bytes / bandwidth of its route, all at once." },
  { option = "links", name = "pair", rule = "One channel for each ordered pair of devices; transfers on it queue." },
  { option = "links", name = "route",
    rule = "A transfer holds every link of its route for its whole time, all of them or none; the oldest request that can "
      .. "start goes first. List placers plan with duplex instead." },
  { option = "links", name = "fair",
    rule = "After the latency of its route a transfer shares the bandwidth of its links, max-min fairly, with all that "
      .. "cross them, anew whenever one starts or ends. List placers plan with duplex instead." },
  { option = "links", name = "duplex",
    rule = "Each device has one channel out and one in; a transfer holds the sender's and the receiver's, as network "
      .. "cards do." },
  { option = "links", name = "channel",
    rule = "Each device has one channel for sends and receives together: half duplex." },

  { option = "dispatch", name = "fifo", rule = "The op that became ready first." },
  { option = "dispatch", name = "light-first", rule = "The shortest op." },
  { option = "dispatch", name = "blevel", rule = "The op of longest remaining path, by mean times and mean transfers." },
  { option = "dispatch", name = "planned",
    rule = "Exactly in the order of `sequence` (default: the placement's own); the device waits for its next op." },
  { option = "dispatch", name = "lifo", rule = "The op that became ready last." },
  { option = "dispatch", name = "random", rule = "Any, with equal chance (seed)." },
  { option = "dispatch", name = "static", rule = "The op of least `rank`." },

  { option = "memory", name = "none", rule = "Not accounted: no peaks, no limits." },
  { option = "memory", name = "inference",
    rule = "Parameters stay; a tensor goes after its last reader on the device and its last send. Default without twins." },
  { option = "memory", name = "training",
    rule = "As inference, but what a backward twin needs stays until that has run. Default for graphs with twins." },
  { option = "memory", name = "total", rule = "Nothing is freed: what is placed under it holds under any order of execution." },

  { option = "send", name = "push", rule = "A tensor leaves when it is made, to every device with a reader." },
  { option = "send", name = "pull",
    rule = "A device picks an op whose producers are done, fetches what it lacks, and waits for it." },

  { option = "order", name = "event", rule = "Discrete events, by time." },
  { option = "order", name = "ready",
    rule = "Ops by ready time, as the published simulator of Baechi does; with dispatch fifo and send push." },

  { option = "order", name = "task",
    rule = "Ends of ops, edges and collectives by (time, number), as the published simulator of TAG does; with dispatch fifo "
      .. "and send push, and links route only with reserve." },

  { option = "collectives", name = "links", rule = "A collective waits for what it needs of the links. Default." },
  { option = "collectives", name = "queue",
    rule = "One queue for all collectives, one after another; they and transfers know nothing of one another." },

  { option = "preset", name = "doppler",
    rule = "links free, dispatch fifo, send push, memory none: the published simulator of DOPPLER." },
  { option = "preset", name = "baechi-tf",
    rule = "links channel with split windows, order ready, 1 us quantum, memory total: Baechi's published TensorFlow "
      .. "simulator." },
  { option = "preset", name = "baechi-pt",
    rule = "links free, dispatch fifo, send push, memory total: Baechi's published PyTorch simulator." },
  { option = "preset", name = "tag",
    rule = "links route with reserve, collectives queue, order task, 1 us quantum, memory inference: TAG's published "
      .. "simulator." },

  { option = "averages", name = "textbook",
    rule = "Means over all devices, and over all pairs of different devices, as the papers of HEFT, CPOP and PEFT say." },
  { option = "averages", name = "saga",
    rule = "As the SAGA library computes them. HEFT: each device with itself counts as a free pair in mean transfers. "
      .. "CPOP: also the downward rank adds the op's own time at mean speed, and all ops of the top priority are "
      .. "critical. PEFT: the table takes the transfer time of each pair of devices instead of the mean." },

  { option = "favourites", name = "lp",
    rule = "By the linear program of favourite children (berth.favourites), solved to gap, rounded with tau." },
  { option = "favourites", name = "through",
    rule = "A matching, greedily by the longest path through each edge; no program is solved." },
  { option = "favourites", name = "none",
    rule = "Nobody has one." },

  { option = "ties", name = "level",
    rule = "The op of longest remaining path of op times. Default but for the published variants." },
  { option = "ties", name = "topological",
    rule = "The op that comes first in topological order, as the published programs do." },
  { option = "ties", name = "b-level",
    rule = "The op of longest remaining path of mean op times and mean transfers, as heft ranks." },

  { option = "coarsen", name = "none",
    rule = "Every op by itself." },
  { option = "coarsen", name = "chains",
    rule = "Chains: u and v, where v is all that follows u, and u all that v follows." },
  { option = "coarsen", name = "coplace",
    rule = "An op with one consumer goes with it, heaviest edges first; then the connected ops of each set are fused." },
  { option = "coarsen", name = "fuse",
    rule = "Connected ops, heaviest pairs first." },

  { option = "collective_algorithm", name = "ring", rule = "Neighbour to neighbour; every kind has it. Default." },
  { option = "collective_algorithm", name = "tree", rule = "Binomial trees, to the first device and back." },
  { option = "collective_algorithm", name = "double-tree", rule = "Two pipelined trees: broadcast, all-reduce, barrier." },
  { option = "collective_algorithm", name = "halving", rule = "Recursive halving and doubling; Bruck's form of the others." },
  { option = "collective_algorithm", name = "hierarchical",
    rule = "In groups of devices joined by fast links (device_groups, else found), then among one leader of each." },
  { option = "collective_algorithm", name = "lines",
    rule = "An all-reduce by two measured lines (collective_lines), whatever the devices are." },
  { option = "collective_algorithm", name = "auto", rule = "For each collective the fastest of the others but lines." },
}

--- What an option decides, by its name.
rules.options = {
  links = "Who shares what while tensors cross.",
  dispatch = "Which of the ready ops an idle device runs next.",
  memory = "What counts against the memory of a device, and until when.",
  send = "When a tensor leaves.",
  order = "The order in which the simulator handles what happens.",
  collectives = "What collectives on several devices wait for.",
  preset = "The rules of a published simulator; other options override them.",
  averages = "Mean times that heft, cpop and peft rank by.",
  favourites = "Where the favourite children of m-sct come from; also an array: child of each op, 0 or false for none.",
  ties = "Of ops that could start equally early, which m-etf and m-sct take first.",
  coarsen = "Which sets of ops, of coarsen_ops at most, are placed as one.",
  preempt = "Whether a device drops the op it runs for a better one by dispatch, and takes it up again later.",
  collective_algorithm = "How collectives are carried out, which prices them.",
}

return rules
