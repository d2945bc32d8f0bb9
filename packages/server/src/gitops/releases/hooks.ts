/** Hooks: builds of pipelines that a release waits for. A build is wanted once per hook; `start-builds.ts` creates it. */
import type { StoredBuild } from './stored-release.ts'
import type { World } from './world.ts'

/** Longest JSON that builds hand to later ones together: it is a variable of their steps. Characters. */
const MAX_CONTEXT = 20_000

export interface Hook {
  /** Where the build is noted. */
  readonly builds: StoredBuild[]
  readonly hook: string
  /** Undefined without a hook. */
  readonly pipeline: string | undefined
  readonly variables: Readonly<Record<string, string>>
}

export type HookOutcome = 'waits' | 'succeeded' | { readonly why: string }

/** Wants the build of a hook, unless it was wanted before, and looks at it. */
export function runHook({ builds, hook, pipeline, variables }: Hook, world: World): HookOutcome {
  if (pipeline === undefined) return 'succeeded'
  // A build that failed belongs to an earlier try of the promotion.
  let wanted = builds.findLast((build) => build.hook === hook)
  if (wanted === undefined) {
    const context = Object.keys(world.context).length === 0 ? {} : { PROMOTION_CONTEXT: JSON.stringify(world.context) }
    wanted = { hook, pipeline, state: 'running', variables: plainOf({ ...variables, ...context }) }
    builds.push(wanted)
  }
  if (wanted.state === 'running') lookAt(wanted, world)
  if (wanted.state === 'running') return 'waits'
  return wanted.state === 'succeeded'
    ? 'succeeded'
    : { why: wanted.message ?? `The build of the pipeline "${pipeline}" has failed.` }
}

/** Messages of clusters and forges must not be expressions of a pipeline, which could contain its secrets. */
function plainOf(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value.replaceAll('${{', '$ {{')]))
}

function lookAt(wanted: StoredBuild, { builds, context }: World): void {
  const build = wanted.buildId === undefined ? undefined : builds.get(wanted.buildId)
  if (build === undefined) return
  if (build.status === 'success') {
    // A later value replaces an earlier one.
    if (JSON.stringify({ ...context, ...build.context }).length <= MAX_CONTEXT) {
      wanted.state = 'succeeded'
      Object.assign(context, build.context)
    } else {
      wanted.state = 'failed'
      wanted.message = `The build ${build.id} of the pipeline "${wanted.pipeline}" makes PROMOTION_CONTEXT longer than ${MAX_CONTEXT} characters.`
    }
  }
  if (build.status !== 'error' && build.status !== 'terminated') return
  wanted.state = 'failed'
  wanted.message = `The build ${build.id} of the pipeline "${wanted.pipeline}" ended in ${build.status}${build.reason === undefined ? '' : ` (${build.reason})`}.`
}
