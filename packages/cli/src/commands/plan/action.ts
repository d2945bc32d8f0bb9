import { resolve } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { prepareLocalBuild } from '@windlass/local/prepare'
import { previewPlan, VOLUME_PATH } from '@windlass/plan'
import type { Invocation, Values } from '../../command.ts'
import { formatProblem } from '../../format/problems.ts'
import { readInput, sourcesRead } from '../../input/input-files.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../../input/variables.ts'
import type { planOptions } from './options.ts'
import { planOnServer, showBuildPlan } from './on-server.ts'
import { showPreview } from './show-preview.ts'

/** Runs `plan -f FILE`, `plan --build ID` and `plan --pipeline NAME`. The plan assumes that every step that runs succeeds. */
export async function planFile(invocation: Invocation<Values<typeof planOptions>>): Promise<number | void> {
  const { args, options, out, settings } = invocation
  if (options.build !== undefined) return showBuildPlan(invocation, options.build)
  if (options.pipeline !== undefined) return planOnServer(invocation, options.pipeline)
  if (options.trigger !== undefined)
    throw fault('usage', { message: '--trigger needs --pipeline.', hint: 'Name the pipeline of the trigger.' })
  const file = options.file ?? args[0]
  if (file === undefined || args.length > (options.file === undefined ? 1 : 0))
    throw fault('usage', { message: '`plan` takes exactly one document.', hint: 'Run `windlass plan -f FILE`.' })
  const source = readInput(file)
  const files = await Promise.all([options.event ?? [], options.varFile].flat().map((path) => readVariableFile(path)))
  const { local, warnings, branch, buildId } = await prepareLocalBuild({
    source: { text: source.text, file: source.name },
    documentPath: file === '-' ? undefined : resolve(file),
    branch: options.branch,
    revision: options.sha,
    variables: Object.assign({}, ...files, parseVariables(options.variable, '-v')),
    secrets: parseSecrets(options.secret, settings.environment),
    only: options.only,
    skip: options.skip,
    stepTypes: options.stepTypes,
    isPreview: true,
    environment: settings.environment,
    clock: systemClock,
  })
  const builtins = { CI: 'true', CF_BUILD_ID: buildId, CF_VOLUME_PATH: VOLUME_PATH }
  const preview = previewPlan(local.plan, { builtins, only: options.only, skip: options.skip })
  for (const problem of warnings) for (const line of formatProblem(problem, sourcesRead(), out.stderr.style)) out.note(line)
  showPreview(preview, { title: source.name, branch, out, output: options.output })
}
