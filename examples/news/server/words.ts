/** The parts that the stories are generated from. */

export const TOPICS: Record<string, { subjects: string[]; events: string[] }> = {
  Space: {
    subjects: [
      "The lunar relay",
      "A student satellite",
      "The comet probe",
      "A retired space telescope",
      "The polar rocket range",
      "An amateur astronomer",
      "The new solar observatory",
      "A crewed test flight",
    ],
    events: [
      "sends its first pictures home",
      "finds ice where nobody had looked",
      "is delayed by a jammed door",
      "breaks a record from 1972",
      "wakes up after nine silent years",
      "gets two more years of funding",
      "records something that repeats",
      "returns with a teaspoon of dust",
    ],
  },
  Oceans: {
    subjects: [
      "A deep-sea cable",
      "The harbour of Lund",
      "A school of young herring",
      "The last wooden ferry",
      "A drifting weather buoy",
      "The tide mill",
      "A team of seagrass planters",
      "The northern research ship",
    ],
    events: [
      "turns up two hundred miles away",
      "is repaired by night",
      "surprises its own engineers",
      "opens to visitors for one weekend",
      "maps a canyon without a name",
      "survives the storm unharmed",
      "comes back after thirty years",
      "needs a thousand volunteers",
    ],
  },
  Cities: {
    subjects: [
      "The night bus",
      "A rooftop orchard",
      "The old gasworks",
      "A street without cars",
      "The central library",
      "The longest escalator",
      "A market under the viaduct",
      "The town of Arden",
    ],
    events: [
      "will stay after all",
      "wins the vote by eleven ballots",
      "doubles its visitors in a year",
      "gets a second entrance",
      "shows what quiet sounds like",
      "is drawn by the people who use it",
      "opens its books",
      "votes for fewer signs",
    ],
  },
  Music: {
    subjects: [
      "A choir of bus drivers",
      "The lost cello suite",
      "A festival on a frozen lake",
      "The organ of Saint Bride",
      "A fourteen-year-old composer",
      "The last maker of zithers",
      "An orchestra without a conductor",
      "The village brass band",
    ],
    events: [
      "fills the hall twice",
      "sings for the first time in a century",
      "records with what was at hand",
      "goes on tour by train",
      "divides the critics",
      "teaches a whole school",
      "plays through the power cut",
      "is offered a home",
    ],
  },
  Science: {
    subjects: [
      "A paper-thin battery",
      "The seed vault",
      "A mathematician on parental leave",
      "The slowest experiment",
      "A glue from mussels",
      "The forgotten herbarium",
      "A lake under the glacier",
      "A class of ten-year-olds",
    ],
    events: [
      "settles an old question",
      "works better in the cold",
      "is repeated, and holds",
      "raises a new question",
      "turns out to be older than thought",
      "costs less than a sandwich",
      "explains the blue of the feathers",
      "needs a bigger freezer",
    ],
  },
};

export const LIGHTHOUSES = [
  "The keeper who counted every ship",
  "A lens as tall as a house goes back up the tower",
  "Why the light at Skarn flashes twice",
  "One winter alone on the rock",
  "The lighthouse that was moved by a mile",
  "What the fog signal sounded like",
  "A weekend in the lamp room",
  "The painters of the white tower",
  "Letters from the supply boat",
  "When the automatic light failed",
];

export const SOURCES = ["The Harbour Post", "Meridian", "The Weekly Ledger", "Northlight", "The Arden Courier"];

export const READERS = ["Mina", "Oskar", "Priya", "Tomas", "Wren"];

export const SENTENCES = [
  "It began with a note pinned to a door, and nobody expected an answer.",
  "Those who were there speak of a long evening and of very cold hands.",
  "The figures were checked three times before anyone dared to publish them.",
  "“We had planned for everything but success,” says one of the organisers.",
  "Money was the smaller problem; time was the larger one.",
  "Neighbours brought soup, a ladder and, in one case, a signed map.",
  "A second attempt is planned for the spring, weather permitting.",
  "Older reports tell it differently, and both versions may be right.",
  "What happens next depends on a meeting that has been put off twice.",
  "For now the doors stay open, and the lights stay on.",
  "The method is simple enough to explain on the back of an envelope.",
  "Critics point out that it has been tried before, on a smaller scale.",
  "Nobody was hurt, and one gull was mildly inconvenienced.",
  "The town has put up a bench where the view is best.",
];
