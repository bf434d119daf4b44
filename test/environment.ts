import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * Import this first wherever tests, faults, benches and pictures start. It leaves in `process.env` what is listed here alone: the
 * shell may hold the variables of a real account (`set -a; . ./.env`), and whatever a test starts would act on it.
 */

const inherits = new RegExp(
  `^(?:${[
    'PATH|PATHEXT|HOME|USER|LOGNAME|SHELL|LANG|LC_\\w+|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|COLUMNS|LD_LIBRARY_PATH',
    'TMPDIR|TEMP|TMP|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMFILES|PROGRAMDATA',
    'CI|GITHUB_(?:ACTIONS|WORKSPACE|STEP_SUMMARY)|npm_\\w+',
    // Not NODE_OPTIONS, which may load an .env file into every process.
    'NODE_ENV|NODE_COMPILE_CACHE|NODE_EXTRA_CA_CERTS|NODE_V8_COVERAGE',
    'VITEST|VITEST_\\w+|TEST|TEST_\\w+|FAULTS|FAULT_\\w+|REPORT_SHOTS|CHROMIUM',
  ].join('|')})$`,
  'i',
);

/** The variables of the shell that tests do not inherit. */
export const withheld: Record<string, string | undefined> = {};
for (const [name, value] of Object.entries(process.env)) {
  if (inherits.test(name)) continue;
  withheld[name] = value;
  delete process.env[name];
}

// No `.env` of this folder is loaded.
process.env.NODE_ENV = 'test';
// Nothing is written to the home of whoever runs the tests.
process.env.XDG_STATE_HOME = join(tmpdir(), `trunkline-test-state-${process.getuid?.() ?? ''}`);
