/** Options of `plan`. */
import { oneOf, text, texts } from '../../command.ts'

export const planOptions = {
  build: text('--build <id>', 'Show the plan of this build on the server'),
  pipeline: text('--pipeline <name>', 'Plan a build of this stored pipeline on the server, with its variables and contexts'),
  trigger: text('-t, --trigger <name>', 'With --pipeline: as if started by this trigger of the pipeline'),
  file: text('-f, --file <file>', 'The document; - reads standard input'),
  branch: text('-b, --branch <name>', 'Branch or tag (default: that of the repository of the document)'),
  sha: text('-s, --sha <commit>', 'Commit'),
  event: text('--event <file>', 'Variables of a git event (CF_...), as a JSON or YAML mapping'),
  variable: texts('-v, --variable <name=value>', 'Set a variable; repeatable'),
  varFile: texts('--var-file <file>', 'Set variables from a file (.env, .json or .yaml)'),
  secret: texts('-S, --secret <name=value>', 'Set a variable that is never shown; NAME alone reads it from the environment'),
  only: texts('--only <step>', 'Plan a run of only this step; repeatable'),
  skip: texts('--skip <step>', 'Plan a run without this step; repeatable'),
  stepTypes: text('--step-types <folder>', 'Folder with step type manifests (default: .windlass/steps next to the document)'),
  output: oneOf('-o, --output <format>', 'Output format', ['tree', 'json', 'dot', 'svg']),
}
