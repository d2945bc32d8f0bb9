/** Options of `debug`. */
import { flag, integer, oneOf, text, texts } from '../../command.ts'

export const debugOptions = {
  break: texts('--break <step:phase>', 'Set a breakpoint; phase: before, override, after or failure; repeatable'),
  onFailure: flag('--on-failure', 'Hold every step that fails'),
  off: flag('--off', 'Remove all breakpoints and continue held steps'),
  timeout: integer('--timeout <seconds>', 'How long a step is held (default: 900)'),
  onTimeout: oneOf('--on-timeout <what>', 'What happens then: stop or continue the build', ['stop', 'continue']),
  list: flag('--list', 'List held steps and terminals'),
  continue: flag('--continue', 'Continue the held step'),
  retry: flag('--retry', 'Run the held step again'),
  fail: flag('--fail', 'Fail the held step'),
  extend: flag('--extend', 'Restart the timeout of the held step'),
  command: text(
    '--command <text>',
    'Run a command in the container of the held step and return its exit code; the step stays held',
  ),
  attach: text('--attach <terminal>', 'Reattach to a terminal that was left with Ctrl-P Ctrl-Q'),
  replay: text('--replay <terminal>', 'Print the recording of a terminal'),
  detach: flag('-d, --detach', 'Set the breakpoints without waiting for them'),
  output: oneOf('-o, --output <format>', 'With --list: output format', ['json']),
}
