import { resolve } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { prepareLocalBuild } from '@windlass/local/prepare'
import { previewPlan, VOLUME_PATH } from '@windlass/plan'
import type { Invocation, Values } from '../../command.ts'
import { formatProblem } from '../../format/problems.ts'
import { readInput, sourcesRead } from '../../input/input-files.ts'
import { printTree } from '../../plan/print-tree.ts'
import { toDot } from '../../plan/to-dot.ts'
import { toSvg } from '../../plan/to-svg.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../../input/variables.ts'
import type { planOptions } from './options.ts'

/** Runs `plan -f FILE`. The plan assumes that every step that runs succeeds. */
export async function planFile({ args, options, out, settings }: Invocation<Values<typeof planOptions>>): Promise<void> {
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
  switch (options.output) {
    case 'json':
      return out.line(JSON.stringify(preview, null, 2))
    case 'dot':
      return out.line(toDot(preview))
    case 'svg':
      return out.line(toSvg(preview))
    case 'tree':
    case undefined:
      printTree(preview, { title: source.name, branch, out })
  }
}
