// Runs before the page's other modules are there, to save them a round trip.

import { prepare } from "./key.js";

prepare();
