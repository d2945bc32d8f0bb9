/** Options of `run`. */
import { buildOptions } from '../builds/options.ts'
import { flag, integer, oneOf, text, texts } from '../../command.ts'

export const runOptions = {
  ...buildOptions,
  file: text('-f, --file <file>', 'Run this document instead of a stored pipeline; - reads standard input'),
  local: flag('--local', 'Run on this machine, without a server'),
  source: text(
    '--source <folder>',
    'With --local: use this work tree, including uncommitted changes, instead of the first git-clone',
  ),
  branch: text('-b, --branch <name>', 'Branch or tag'),
  sha: text('-s, --sha <commit>', 'Commit'),
  variable: texts('-v, --variable <name=value>', 'Set a variable; repeatable'),
  varFile: texts(
    '--var-file <file>',
    'Set variables from a file (.env, .json or .yaml); a list of variable sets starts one run per set and returns the worst exit code',
  ),
  secret: texts('-S, --secret <name=value>', 'Set a variable that is masked in logs; NAME alone reads it from the environment'),
  secretFile: texts('--secret-file <file>', 'With --local: set masked variables from a file'),
  approve: texts('--approve <step>', 'With --local: approve this step without asking'),
  deny: texts('--deny <step>', 'With --local: deny this step without asking'),
  stepTypes: text(
    '--step-types <folder>',
    'With --local: folder with step type manifests (default: .windlass/steps next to the document)',
  ),
  watch: flag('--watch', 'With --local: run again when the document or the work tree changes'),
  context: texts('-c, --context <name>', 'Use the variables of a shared configuration'),
  runtime: text('--runtime <name>', 'Runtime environment'),
  only: texts('--only <step>', 'Run only this step; repeatable'),
  skip: texts('--skip <step>', 'Skip this step; repeatable'),
  noCache: flag('--no-cache', 'Build images without cache'),
  resetVolume: flag('--reset-volume', 'Start with an empty shared volume'),
  debug: flag('--debug', 'Stop at the breakpoints of the document, and at --break and --on-failure'),
  break: texts('--break <step:phase>', 'Set a breakpoint; phase: before, override, after or failure; repeatable'),
  onFailure: flag('--on-failure', 'Hold every step that fails'),
  detach: flag('-d, --detach', 'Print the id of the build without waiting for it'),
  output: oneOf('-o, --output <format>', 'Print the final record of the build on standard output, the log on standard error', [
    'json',
  ]),
  timestamps: flag('--timestamps', 'Prefix each line with its time'),
  logLimit: integer('--log-limit <bytes>', 'With --local: maximum log size of a step, in bytes'),
}
