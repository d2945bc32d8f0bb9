/** The debugger: breakpoints of a build, and terminals in held steps. */
import { command } from '../../command.ts'
import { debugOptions } from './options.ts'

export const debugCommands = [
  command('debug', {
    summary: 'Stop a build at breakpoints and open terminals in its steps',
    about:
      'Waits until a step of the build is held, and opens a terminal in a container like that of the step. `exit` continues the step; ' +
      'Ctrl-P Ctrl-Q (or ~. at the start of a line) leaves the terminal, and the step stays held.',
    arguments: [
      { name: '<build>', summary: 'Id of a build' },
      { name: '[step]', summary: 'The held step; optional if only one is held' },
    ],
    options: debugOptions,
    examples: [
      'windlass run demo/app --debug',
      'windlass debug 65f0c1d2a3b4c5d6e7f80912 --break unit_tests:override',
      "windlass debug 65f0c1d2a3b4c5d6e7f80912 unit_tests --command 'env | sort'",
      'windlass debug 65f0c1d2a3b4c5d6e7f80912 --retry',
    ],
    run: async (invocation) => (await import('./action.ts')).debugBuild(invocation),
  }),
]
