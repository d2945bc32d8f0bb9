/** Checks and plans a document as `windlass validate` and `windlass plan -f` do. Runs in a worker. */
import {
  BUILT_IN_CATALOG,
  catalogOf,
  checkPipeline,
  compileLocally,
  documentKind,
  fixOf,
  hasErrors,
  joinCatalogs,
  parseYaml,
  partial,
  readPipelineDocument,
  type CatalogEntry,
} from '@windlass/pipeline'
import { previewPlan, VOLUME_PATH, type Plan } from '@windlass/plan'
import type { CheckAnswer, ForeignSource, PlacedPlan, PlannedRun } from './language.ts'

const FILE = 'pipeline.yaml'
/** Stands for the id of a build that does not exist. */
const NO_BUILD = '0'.repeat(24)

/** Returns the problems of a document with their fixes, and the plan of a build with these values if it has no errors. */
export function checkDocument(text: string, run: PlannedRun, entries: readonly CatalogEntry[] = []): CheckAnswer {
  // The account may have further step types, or versions of them.
  const stepTypes = partial(joinCatalogs(catalogOf(entries), BUILT_IN_CATALOG))
  const problems = checkPipeline({ text, file: FILE }, stepTypes).map((problem) => ({ ...problem, fix: fixOf(text, problem) }))
  const written = writtenFields(text)
  if (hasErrors(problems)) return { problems, written }
  const source = foreignSource(text)
  if (source !== undefined) return { problems, written, source }
  const { local } = compileLocally({
    source: { text, file: FILE },
    facts: {
      buildId: NO_BUILD,
      createdAt: 0,
      trigger: { kind: 'manual' },
      pipeline: run.pipeline,
      git: { branch: run.branch },
    },
    variables: run.variables ?? {},
    secrets: {},
    stepTypes,
    isPreview: true,
  })
  return { problems, written, plan: local && toPlacedPlan(local.plan) }
}

function toPlacedPlan(plan: Plan): PlacedPlan {
  const preview = previewPlan(plan, { builtins: { CI: 'true', CF_BUILD_ID: NO_BUILD, CF_VOLUME_PATH: VOLUME_PATH } })
  const positions = new Map(plan.steps.map(({ name, position }) => [name, position]))
  return { ...preview, steps: preview.steps.map((step) => ({ ...step, position: positions.get(step.name) })) }
}

function writtenFields(text: string): readonly string[] | undefined {
  const { root } = parseYaml({ text, file: FILE })
  if (root?.kind !== 'map' || !root.entries.has('kind')) return undefined
  const spec = root.entries.get('spec')?.value
  return spec?.kind === 'map' ? [...spec.entries.keys()] : []
}

/** Returns where the steps of a document are, unless it contains them. */
function foreignSource(text: string): ForeignSource | undefined {
  if (documentKind(text) !== 'pipeline') return undefined
  const source = readPipelineDocument({ text, file: FILE }).document?.source
  if (source === undefined || source.kind === 'inline') return undefined
  if (source.kind === 'url') return { kind: 'url', where: source.url }
  return {
    kind: 'git',
    where: `${source.path} of ${source.repo}${source.revision === undefined ? '' : ` at ${source.revision}`}`,
  }
}
