/** The facts in which two builds differ. */
import { isDeepStrictEqual } from 'node:util'
import type { Build, BuildComparison, BuildPlan, BuildStep } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listAttempts } from '../../store/builds/attempts.ts'
import { findRuntime, listRuntimeVersions } from '../../store/runtimes/runtimes.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { present } from '../lifecycle/present.ts'
import { toFullBuild, toBuild } from '../lifecycle/view.ts'
import { describePlan } from '../preview/build-plan.ts'

type Runtime = NonNullable<NonNullable<BuildComparison['runtime']>['after']>
type Variable = NonNullable<BuildComparison['variables'][number]['after']>
type Image = NonNullable<BuildStep['image']>
type Commit = NonNullable<NonNullable<BuildComparison['commit']>['after']>

interface Side {
  readonly build: Build
  readonly document: string
  readonly variables: ReadonlyMap<string, Variable>
  readonly steps: ReadonlyMap<string, BuildStep>
  readonly runtime: Runtime | undefined
}

/** Variables that differ between all builds, or say the same as the commit. */
const OWN_VARIABLES = /^CF_(?:BUILD_ID|BUILD_URL|BUILD_TIMESTAMP|VOLUME_NAME|REVISION|SHORT_REVISION|COMMIT_\w+)$/

/** Compares a build with another one. The caller may see both. */
export async function compareBuilds(app: App, build: BuildRow, other: BuildRow): Promise<BuildComparison> {
  const before = await readSide(app, other)
  const after = await readSide(app, build)
  const facts = {
    variables: changes(before.variables, after.variables).map(([name, change]) => ({ name, ...change })),
    images: changes(imagesOf(before), imagesOf(after), isSameImage).map(([step, change]) => ({ step, ...change })),
    ...present({
      commit: change(commitOf(before.build), commitOf(after.build)),
      document: change(before.document, after.document),
      runtime: change(before.runtime, after.runtime),
    }),
  }
  const names = [...new Set([...after.steps.keys(), ...before.steps.keys()])]
  return {
    before: toListed(other, before.build),
    after: toListed(build, after.build),
    isSame:
      facts.variables.length + facts.images.length === 0 && !('commit' in facts || 'document' in facts || 'runtime' in facts),
    ...facts,
    steps: names.map((name) => ({
      name,
      ...present({ before: toStep(before.steps.get(name)), after: toStep(after.steps.get(name)) }),
    })),
  }
}

/** Returns the list form with the step to blame. */
function toListed(row: BuildRow, { blame, why }: Build): Build {
  return { ...toBuild(row), ...present({ blame, why }) }
}

async function readSide(app: App, row: BuildRow): Promise<Side> {
  const build = await toFullBuild(app, row)
  const plan = await describePlan(app, row.id)
  return {
    build,
    document: plan.fetched ?? plan.document,
    variables: variablesOf(plan),
    steps: new Map((build.steps ?? []).map((step) => [step.name, step])),
    runtime: await runtimeOf(app, row),
  }
}

/** Returns the variables with the values that apply. */
function variablesOf({ plan }: BuildPlan): Map<string, Variable> {
  const applied = (plan?.variables ?? []).filter(
    ({ name, overriddenBy }) => overriddenBy === undefined && !OWN_VARIABLES.test(name),
  )
  return new Map(applied.map(({ name, level, value, isSecret }) => [name, { level, isSecret, ...present({ value }) }]))
}

async function runtimeOf({ store, accountId }: App, build: BuildRow): Promise<Runtime | undefined> {
  const attempt = (await listAttempts(store.query, build.id)).at(-1)
  const name = attempt?.runtime ?? build.runtime
  if (name === null) return undefined
  const row = attempt === undefined ? undefined : await findRuntime(store.query, accountId, name)
  const versions = row === undefined ? [] : await listRuntimeVersions(store.query, row.id)
  const version = versions.find(({ created_at: at }) => at <= (attempt?.created_at ?? 0))?.version
  return { name, ...present({ version }) }
}

function commitOf({ revision, branch, commit }: Build): Commit {
  return present({ revision, branch, message: commit?.message, author: commit?.author })
}

function imagesOf({ steps }: Side): Map<string, Image> {
  return new Map([...steps].flatMap(([name, { image }]): [string, Image][] => (image === undefined ? [] : [[name, image]])))
}

/** Returns true for the same name, unless both digests are known and differ. */
function isSameImage(one?: Image, other?: Image): boolean {
  if (one === undefined || other === undefined) return one === other
  const hasDigests = one.digest !== undefined && other.digest !== undefined
  return one.name === other.name && (!hasDigests || one.digest === other.digest)
}

function toStep(step: BuildStep | undefined): BuildComparison['steps'][number]['after'] {
  if (step === undefined) return undefined
  const { status, startedAt, finishedAt, carried } = step
  const ran = carried !== true && startedAt !== undefined && finishedAt !== undefined
  return { status, ...(ran && { ms: Math.max(0, finishedAt - startedAt) }) }
}

interface Change<T> {
  before?: T
  after?: T
}

/** Returns both values, or undefined if they are equal. */
function change<T>(
  before: T | undefined,
  after: T | undefined,
  isSame: (a?: T, b?: T) => boolean = isDeepStrictEqual,
): Change<T> | undefined {
  if (isSame(before, after)) return undefined
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) }
}

/** Returns the changed entries of two maps, also those that only one of them has. */
function changes<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  isSame?: (a?: T, b?: T) => boolean,
): [string, Change<T>][] {
  const names = [...new Set([...after.keys(), ...before.keys()])]
  return names.flatMap((name): [string, Change<T>][] => {
    const found = change(before.get(name), after.get(name), isSame)
    return found === undefined ? [] : [[name, found]]
  })
}
