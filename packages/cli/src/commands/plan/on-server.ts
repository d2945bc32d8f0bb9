/** Plans that the server knows: of a build, or of a pipeline with the variables of the server. */
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { describeStart } from '@windlass/plan'
import type { BuildPlan, PlanAnswer } from '@windlass/protocol'
import type { Invocation, Values } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { formatProblem } from '../../format/problems.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { readInput, sourcesRead } from '../../input/input-files.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../../input/variables.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'
import type { planOptions } from './options.ts'
import { showPreview } from './show-preview.ts'

type PlanOptions = Values<typeof planOptions>

/** Runs `plan --build ID`. */
export async function showBuildPlan({ args, options, out, settings }: Invocation<PlanOptions>, build: string): Promise<number> {
  const { output, build: _build, ...others } = options
  const given = Object.values(others).some((value) => (Array.isArray(value) ? value.length > 0 : value !== undefined))
  if (args.length > 0 || given)
    throw fault('usage', { message: '--build takes only -o.', hint: 'Run `windlass plan --build ID`.' })
  const id = requireBuildId(build)
  const { plan, problems = [] } = await openSession(settings).client.builds.plan(id)
  showProblems(problems, out)
  if (plan === undefined) return EXIT.failed
  showPreview(plan, { title: `build ${id}`, branch: undefined, out, output })
  return EXIT.success
}

/** Runs `plan --pipeline NAME`. */
export async function planOnServer({ args, options, out, settings }: Invocation<PlanOptions>, pipeline: string): Promise<number> {
  if (args.length > 0 || options.stepTypes !== undefined)
    throw fault('usage', {
      message: '--pipeline plans a stored pipeline with the step types of the server.',
      hint: 'Name another document for it with -f.',
    })
  const document = options.file === undefined ? undefined : readInput(options.file)
  const files = await Promise.all([options.event ?? [], options.varFile].flat().map((path) => readVariableFile(path)))
  const answer = await openSession(settings).client.builds.preview({
    pipeline,
    variables: Object.assign({}, ...files, parseVariables(options.variable, '-v')),
    secrets: parseSecrets(options.secret, settings.environment),
    ...defined({
      document: document?.text,
      file: document?.name,
      branch: options.branch,
      revision: options.sha,
      trigger: options.trigger,
      only: options.only.length === 0 ? undefined : [...options.only],
      skip: options.skip.length === 0 ? undefined : [...options.skip],
    }),
  })
  showProblems(answer.problems, out)
  if (answer.plan === undefined) return EXIT.failed
  showPreview(answer.plan, { title: pipeline, branch: options.branch, out, output: options.output })
  if (options.output === undefined || options.output === 'tree') for (const line of startLines(answer)) out.line(line)
  return EXIT.success
}

/** Returns where the build would run, and whether it would start at once. */
function startLines({ runtime, missing, wait }: PlanAnswer): string[] {
  const where = runtime === undefined ? [] : [`Runtime: ${runtime}`]
  return ['', ...where, describeStart({ missing, wait })]
}

function showProblems(problems: NonNullable<BuildPlan['problems']>, out: Printer): void {
  for (const { severity, ...problem } of problems) {
    const shown = { ...problem, severity: severity === 'warning' ? ('warning' as const) : ('error' as const) }
    for (const line of formatProblem(shown, sourcesRead(), out.stderr.style)) out.note(line)
  }
}
