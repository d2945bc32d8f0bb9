/** `run`: a build on a server, or on this machine's Docker. */
import { buildOptions } from './words.ts'
import { command, flag, integer, oneOf, text, texts } from '../command.ts'

export const runOptions = {
  ...buildOptions,
  file: text('-f, --file <file>', 'Run this document instead of a stored one; - reads standard input'),
  local: flag('--local', 'Run on this machine, without a server'),
  source: text(
    '--source <folder>',
    'With --local: use this work tree, uncommitted changes included, in place of the first git-clone',
  ),
  branch: text('-b, --branch <name>', 'Branch or tag'),
  sha: text('-s, --sha <commit>', 'Commit'),
  variable: texts('-v, --variable <name=value>', 'Set a variable; may be given many times'),
  varFile: texts(
    '--var-file <file>',
    'Set the variables of a file (.env, .json or .yaml); one that holds a list of sets gives one run for each, and the worst exit code',
  ),
  secret: texts('-S, --secret <name=value>', 'Set a variable that is masked in logs; NAME alone takes it from the environment'),
  secretFile: texts('--secret-file <file>', 'With --local: set the variables of a file, masked in logs'),
  approve: texts('--approve <step>', 'With --local: approve this step without asking'),
  deny: texts('--deny <step>', 'With --local: deny this step without asking'),
  stepTypes: text(
    '--step-types <folder>',
    'With --local: manifests of step types; .windlass/steps beside the document when left out',
  ),
  watch: flag('--watch', 'With --local: run again whenever the document or the work tree changes'),
  context: texts('-c, --context <name>', 'Use the variables of a shared configuration'),
  runtime: text('--runtime <name>', 'Runtime environment'),
  only: texts('--only <step>', 'Run this step alone; may be given many times'),
  skip: texts('--skip <step>', 'Leave this step out; may be given many times'),
  noCache: flag('--no-cache', 'Build images without their caches'),
  resetVolume: flag('--reset-volume', 'Begin with an empty shared volume'),
  debug: flag('--debug', 'Stop at the breakpoints of the document, and at --break and --on-failure'),
  break: texts('--break <step:phase>', 'Debug: stop there too: before, override, after or failure; may be given many times'),
  onFailure: flag('--on-failure', 'Debug: stop at every step that fails'),
  detach: flag('-d, --detach', 'Print the id of the build and do not wait for it'),
  output: oneOf('-o, --output <format>', 'Print the final record of the build on standard output, the log on standard error', [
    'json',
  ]),
  timestamps: flag('--timestamps', 'Put the time in front of each line'),
  logLimit: integer('--log-limit <bytes>', 'With --local: most bytes of log that one step may write'),
}

export const runCommands = [
  command('run', {
    summary: 'Run a pipeline and follow its log',
    about:
      'Ends with the exit code of the build. Ctrl-C leaves a build of a server running and says how to terminate it; a second one ' +
      'terminates it. A local build ends at the first.',
    arguments: [{ name: '[pipeline]', summary: 'Name or id of a stored pipeline' }],
    options: runOptions,
    examples: [
      'windlass run demo/app -b main -v GREETING=hello',
      'windlass run -f pipeline.yml',
      'windlass run --local -f pipeline.yml --source .',
    ],
    async run(invocation) {
      if (invocation.options.local) return (await import('../actions/run-locally.ts')).runOnThisMachine(invocation)
      return (await import('../actions/run-on-server.ts')).runOnServer(invocation)
    },
  }),
]
