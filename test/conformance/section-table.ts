import Table from 'cli-table3';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

interface Row {
  passed: number;
  failed: number;
  skipped: number;
}

/** Prints what held section by section, then what did not and why. */
export function createSectionTable(print: (text: string) => void = console.log): Reporter {
  return {
    onTestRunEnd(modules, errors) {
      const tests = modules.flatMap((module: TestModule) => [...module.children.allTests()]);
      const rows = new Map<string, Row>();
      for (const each of tests) {
        const section = sectionOf(each);
        const row = rows.get(section) ?? { passed: 0, failed: 0, skipped: 0 };
        rows.set(section, row);
        const { state } = each.result();
        if (state !== 'pending') row[state] += 1;
      }
      const table = new Table({
        head: ['section', 'passed', 'failed', 'skipped'],
        style: { head: [], border: [], compact: true },
      });
      for (const [section, { passed, failed, skipped }] of rows) table.push([section, passed, failed, skipped]);
      print(table.toString());
      for (const each of tests.filter((one) => one.result().state === 'failed')) {
        print(
          `\nFAILED ${sectionOf(each)}: ${each.name}\n${each
            .result()
            .errors?.map(({ message }) => message)
            .join('\n')}`,
        );
      }
      for (const reason of skipReasons(tests)) print(`\nskipped: ${reason}`);
      const broken = [...errors, ...modules.flatMap((module: TestModule) => module.errors())];
      for (const error of broken) print(`\n${error.message}`);
    },
  };
}

function sectionOf({ parent }: TestCase): string {
  return parent.type === 'suite' ? parent.name : '';
}

function skipReasons(tests: readonly TestCase[]): string[] {
  const notes = tests.map((each) => {
    const result = each.result();
    return result.state === 'skipped' ? (result.note ?? '') : '';
  });
  const counts = [...Map.groupBy(notes.filter(Boolean), (note) => note)];
  return counts.map(([note, held]) => `${held.length}, ${note}`);
}
