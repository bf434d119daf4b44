// Lets Node run the sources of an installed package: below node_modules it refuses to strip their types by itself.
const { readFileSync } = require('node:fs');
const { registerHooks, stripTypeScriptTypes } = require('node:module');
const { pathToFileURL } = require('node:url');

const ownFiles = pathToFileURL(`${__dirname}/../`).href;

// The first use prints that the function is experimental, which would be part of every command's output.
const { emitWarning } = process;
process.emitWarning = () => {};
stripTypeScriptTypes('');
process.emitWarning = emitWarning;

registerHooks({
  load(url, context, next) {
    if (!url.startsWith(ownFiles) || !url.endsWith('.ts')) return next(url, context);
    return { format: 'module', shortCircuit: true, source: stripTypeScriptTypes(readFileSync(new URL(url), 'utf8')) };
  },
});
