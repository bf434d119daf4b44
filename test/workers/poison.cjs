// Loaded into a worker by a test: a text that holds these words hangs or ends whoever parses it.
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  if (typeof text === 'string') {
    if (text.includes('hang the loop')) for (;;);
    if (text.includes('abort the process')) process.abort();
  }
  return parse(text, ...more);
};
