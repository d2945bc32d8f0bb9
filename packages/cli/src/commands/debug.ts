/** The debugger: where a build stops, and terminals in the steps that are held. */
import { command, flag, integer, oneOf, text, texts } from '../command.ts'

export const debugOptions = {
  break: texts('--break <step:phase>', 'Stop there: before, override, after or failure; may be given many times'),
  onFailure: flag('--on-failure', 'Stop at every step that fails'),
  off: flag('--off', 'Stop nowhere any more, and let go of what is held'),
  timeout: integer('--timeout <seconds>', 'How long a held step waits for somebody (default 900)'),
  onTimeout: oneOf('--on-timeout <what>', 'What happens then: the build stops, or goes on', ['stop', 'continue']),
  list: flag('--list', 'Show what is held and the terminals there were'),
  continue: flag('--continue', 'Let the held step go on'),
  retry: flag('--retry', 'Let the held step be tried again'),
  fail: flag('--fail', 'End the held step as failed'),
  extend: flag('--extend', 'Give the held step its whole time once more'),
  command: text(
    '--command <text>',
    'Run this in the container of the held step; ends with its exit code, and the step stays held',
  ),
  attach: text('--attach <terminal>', 'Go back to a terminal that was left with Ctrl-P Ctrl-Q'),
  replay: text('--replay <terminal>', 'Print what a terminal has shown'),
  detach: flag('-d, --detach', 'Set where it stops, and do not wait for it'),
  output: oneOf('-o, --output <format>', 'With --list: print the record', ['json']),
}

export const debugCommands = [
  command('debug', {
    summary: 'Stop a build at its steps and look around in them',
    about:
      'Waits until a step of the build is held, and opens a terminal in a container like that of the step. `exit` lets the step go on; ' +
      'Ctrl-P Ctrl-Q (or ~. at the beginning of a line) leaves the terminal and holds the step.',
    arguments: [
      { name: '<build>', summary: 'Id of a build' },
      { name: '[step]', summary: 'The held step; may be left out when one is held' },
    ],
    options: debugOptions,
    examples: [
      'windlass run demo/app --debug',
      'windlass debug 65f0c1d2a3b4c5d6e7f80912 --break unit_tests:override',
      "windlass debug 65f0c1d2a3b4c5d6e7f80912 unit_tests --command 'env | sort'",
      'windlass debug 65f0c1d2a3b4c5d6e7f80912 --retry',
    ],
    run: async (invocation) => (await import('../actions/debug.ts')).debugBuild(invocation),
  }),
]
