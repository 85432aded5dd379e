// Fetches the key and a nonce before the page's other modules are loaded. This saves a round trip.

import { prepare } from "./key.js";

prepare();
