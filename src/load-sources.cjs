// How Node loads the sources. Before main.ts, since what is loaded earlier is compiled anew at every start.
const { readFileSync } = require('node:fs');
const { enableCompileCache, registerHooks, stripTypeScriptTypes } = require('node:module');
const { pathToFileURL } = require('node:url');

// Keeping compiled code between starts halves their time and memory.
enableCompileCache();
// Below node_modules, Node refuses to strip types by itself.
if (/[\\/]node_modules[\\/]/.test(__dirname)) stripOwnTypes();

function stripOwnTypes() {
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
}
