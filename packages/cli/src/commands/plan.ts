/** `plan`: what a build would do, without running anything. */
import { command, oneOf, text, texts } from '../command.ts'

export const planOptions = {
  file: text('-f, --file <file>', 'The document; - reads standard input'),
  branch: text('-b, --branch <name>', 'Branch or tag; that of the repository around the document when left out'),
  sha: text('-s, --sha <commit>', 'Commit'),
  event: text('--event <file>', 'Set what a git event says: CF_ variables, as a JSON or YAML mapping'),
  variable: texts('-v, --variable <name=value>', 'Set a variable; may be given many times'),
  varFile: texts('--var-file <file>', 'Set the variables of a file (.env, .json or .yaml)'),
  secret: texts('-S, --secret <name=value>', 'Set a variable that is never shown; NAME alone takes it from the environment'),
  only: texts('--only <step>', 'As if this step alone was run; may be given many times'),
  skip: texts('--skip <step>', 'As if this step was left out; may be given many times'),
  stepTypes: text('--step-types <folder>', 'Manifests of step types; .windlass/steps beside the document when left out'),
  output: oneOf('-o, --output <format>', 'How to show it', ['tree', 'json', 'dot', 'svg']),
}

export const planCommands = [
  command('plan', {
    summary: 'Show what a build would do, without running anything',
    about:
      'The steps in the order in which they run, which of them run and why or why not, every variable with the level it comes from, ' +
      'and the images that are needed. A step whose condition is about what happens while the build runs is marked with ?. ' +
      'Exit code 1 when the document has errors.',
    arguments: [{ name: '[file]', summary: 'The document, as with -f' }],
    options: planOptions,
    examples: [
      'windlass plan -f pipeline.yml -b main',
      'windlass plan pipeline.yml -v DEPLOY=true -o json',
      'windlass plan pipeline.yml -o svg > pipeline.svg',
    ],
    run: async (invocation) => (await import('../actions/plan.ts')).planFile(invocation),
  }),
]
