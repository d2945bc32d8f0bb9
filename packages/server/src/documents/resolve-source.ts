/** Pipelines whose steps stand elsewhere (`specTemplate`): behind a URL, which is fetched here, or in a repository, which the engine fetches. */
import { fault } from '@windlass/kit'
import type { Compiled, Diagnostic, Source } from '@windlass/pipeline'
import { buildScope, substitute, type DocumentSource, type Plan, type Scope, type VariableLayer } from '@windlass/plan'
import type { App } from '../app.ts'
import { compileForBuild, type ForBuild } from '../builds/compile-document.ts'
import { fetchDocument, FetchProblem } from './fetch-document.ts'

export interface Sourced extends ForBuild {
  readonly branch: string | undefined
  readonly revision: string | undefined
  /** The text of an earlier build, which is used in place of a new one. */
  readonly fetched?: string | undefined
}

/**
 * Compiles a document, and the one that it refers to. The plan keeps its `source` when that stands in a repository: its steps come when the
 * engine has fetched them. Throws `request-invalid` when nobody says at which revision.
 */
export async function compileSourced(app: App, source: Source, of: Sourced): Promise<Compiled & { readonly fetched?: string }> {
  const compiled = await compileForBuild(app, source, of)
  const place = compiled.plan?.source
  if (compiled.plan === undefined || place === undefined) return compiled
  const scope = scopeOf(of.variables)
  if (of.fetched !== undefined) return compileFetched(app, { outer: compiled, file: fileOf(place), text: of.fetched }, of)
  if (place.location === 'git') return { ...compiled, plan: { ...compiled.plan, source: pin(place, scope, of) } }
  const url = substitute(place.url, scope).text
  try {
    const text = await fetchDocument(url, { hosts: app.documentHosts })
    return await compileFetched(app, { outer: compiled, file: url, text }, of)
  } catch (error) {
    if (!(error instanceof FetchProblem)) throw error
    const problem = sourceProblem(source.file, `the document at ${url} cannot be fetched: ${error.message}`)
    return { ...without(compiled), problems: [...compiled.problems, problem] }
  }
}

/** What variables say before the build. */
function scopeOf(variables: readonly VariableLayer[]): Scope {
  const plan: Plan = { planVersion: 1, mode: 'serial', stages: [], failFast: true, strictFailFast: false, steps: [], variables }
  return buildScope({ plan, snapshot: { steps: {}, exports: [] } })
}

function fileOf(source: DocumentSource): string {
  return source.location === 'git' ? source.path : source.url
}

/** The revision: as pinned, else that of the build. */
function pin(source: Extract<DocumentSource, { location: 'git' }>, scope: Scope, { branch, revision }: Sourced): DocumentSource {
  const fill = (text: string): string => {
    const { text: filled, unresolved } = substitute(text, scope)
    if (unresolved[0] === undefined) return filled
    throw fault('request-invalid', {
      message: `The place of the pipeline's document refers to "${unresolved[0]}", which has no value.`,
      hint: `Set it: -v ${unresolved[0]}=VALUE.`,
    })
  }
  const at = source.revision === undefined ? (revision ?? branch) : fill(source.revision)
  if (at === undefined || at === '') {
    throw fault('request-invalid', {
      message: `The steps of this pipeline are in ${source.path} of ${source.repo}, at the branch of its trigger; a run by hand must name one.`,
      hint: 'Name a branch (-b NAME) or a commit (-s SHA), or pin specTemplate.revision.',
    })
  }
  return { ...source, repo: fill(source.repo), path: fill(source.path), revision: at }
}

export interface Fetched {
  /** The pipeline's own document, whose steps these are. */
  readonly outer: Compiled
  readonly file: string
  readonly text: string
}

/** Compiles a fetched document in the place of the steps of `outer`. */
export async function compileFetched(
  app: App,
  { outer, file, text }: Fetched,
  of: ForBuild,
): Promise<Compiled & { fetched: string }> {
  const inner = await compileForBuild(app, { text, file }, of)
  const isNested = inner.plan?.source !== undefined
  const problems = isNested
    ? [...outer.problems, sourceProblem(file, 'a document that a pipeline refers to must hold the steps itself')]
    : [...outer.problems, ...inner.problems]
  if (inner.plan === undefined || isNested) return { problems, stepTypes: inner.stepTypes, fetched: text }
  const resources = outer.plan?.externalResources ?? inner.plan.externalResources
  const plan: Plan = { ...inner.plan, ...(resources !== undefined && { externalResources: resources }) }
  return { plan, problems, stepTypes: inner.stepTypes, fetched: text }
}

function without({ plan: _plan, ...rest }: Compiled): Compiled {
  return rest
}

function sourceProblem(file: string, message: string): Diagnostic {
  const place = { file, line: 1, column: 1, endLine: 1, endColumn: 1 }
  return { ...place, severity: 'error', code: 'document-source', message, hint: '', path: 'spec.specTemplate' }
}
