/**
 * Checks of one step against the account that it will run in: integrations that it names, and those that it needs (pipeline language 8.6, codes
 * 100 to 601). Pure. What can be said without an account stands with the step types.
 */
import * as read from '../fields.ts'
import type { Entries } from '../fields.ts'
import { child } from '../tree.ts'
import { checkBuild, checkPush } from './check-registries.ts'
import type { ContextPlace, Kind } from './integrations.ts'
import { checkNamed, checkRegistryContexts, REGISTRY, tellLack, warnOfDefault } from './integrations.ts'

export interface CheckedStep {
  /** As run: `build`, or `helm:1.2.0` of a typed step. */
  readonly type: string
  /** Its fields, those under `arguments` among them. */
  readonly entries: Entries
}

/** Reports what the account lacks for a step. The steps inside it and its hooks are steps of their own. */
export function checkContext({ type, entries }: CheckedStep, place: ContextPlace): void {
  switch (type) {
    case 'git-clone':
      return checkGit(entries, place)
    case 'build':
      return checkBuild(entries, place)
    case 'push':
    case 'push-tag':
      return checkPush(entries, place)
    case 'freestyle':
      return checkNamed(entries.get('registry_context')?.value, { ...REGISTRY, field: 'registry_context' }, place)
    case 'composition':
    case 'launch-composition':
      return checkRegistryContexts(entries, place)
    case 'deploy':
      return checkCluster(entries, place)
    default:
      if (type === 'helm' || type.startsWith('helm:')) checkHelm(entries, place)
  }
}

const GIT: Kind = {
  field: 'git',
  noun: 'git integration',
  variable: 'git-variable',
  unknown: 'git-unknown',
  names: ({ git }) => git?.map(({ name }) => name),
}
const CLUSTER: Kind = {
  field: 'cluster',
  noun: 'cluster',
  variable: 'cluster-variable',
  unknown: 'cluster-unknown',
  names: ({ clusters }) => clusters?.map(({ name }) => name),
}

const ALWAYS_VALID = 'CF-default'

/** A repository by its URL needs no integration: it may be public, and one of the same host is found by itself. */
function checkGit(entries: Entries, place: ContextPlace): void {
  const { git } = place.account
  const repo = read.text(entries, 'repo') ?? ''
  const named = read.text(entries, 'git')
  if (named !== undefined && named !== ALWAYS_VALID && git?.length !== 0) return checkNamed(entries.get('git')?.value, GIT, place)
  const isUrl = repo.includes('://') || /^[^/\s]+@[^/\s]+:/.test(repo.slice(0, 500)) || repo.startsWith('${{')
  if (git === undefined || (isUrl && named === undefined)) return
  if (git.length === 0) {
    return tellLack(place, 'git-missing', place.range, 'there is no git integration to clone with', {
      path: `${place.path}.git`,
      hint: 'Add a context of type git, or write the whole URL of a public repository as "repo".',
    })
  }
  if (named === undefined && git.length > 1)
    warnOfDefault('git-implied', { field: 'git', noun: 'git integrations', of: git }, place)
}

function checkCluster(entries: Entries, place: ContextPlace): void {
  const { clusters } = place.account
  const written = read.node(entries, 'cluster')
  checkNamed(child(read.map(entries, 'candidate'), 'registry'), { ...REGISTRY, field: 'candidate.registry' }, place)
  if (clusters === undefined) return checkNamed(written, CLUSTER, place)
  if (clusters.length === 0) {
    return tellLack(place, 'cluster-missing', place.range, 'there is no cluster to deploy to', {
      path: `${place.path}.cluster`,
      hint: 'Connect a cluster first.',
    })
  }
  if (written !== undefined) return checkNamed(written, CLUSTER, place)
  if (clusters.length > 1) warnOfDefault('cluster-implied', { field: 'cluster', noun: 'clusters', of: clusters }, place)
}

/** Helm 2 gets no fixes any more; a step that says nothing means 2.0.0. */
function checkHelm(entries: Entries, { report, path, range }: ContextPlace): void {
  const own = read.map(entries, 'arguments')?.entries ?? entries
  const written = read.node(own, 'helm_version')
  const version = read.plain(written) ?? '2.0.0'
  if (!version.startsWith('2')) return
  report.warning('helm-version', written?.range ?? range, `Helm ${version} is out of support`, {
    path: `${path}.helm_version`,
    hint: 'Write "helm_version" with a version of Helm 3.',
  })
}
