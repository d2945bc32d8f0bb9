/** Pipelines whose steps are stored elsewhere (`specTemplate`): at a URL, which the server fetches, or in a repository, which the engine fetches. */
import { defined, fault, isFault, type Fault } from '@windlass/kit'
import { hasErrors, type Compiled, type Diagnostic, type Source } from '@windlass/pipeline'
import { initialScope, substitute, type DocumentSource, type Plan, type VariableLayer, type VariableLevel } from '@windlass/plan'
import type { App } from '../app.ts'
import { compileForBuild, type ForBuild } from '../builds/create/compile-document.ts'
import { COMMAND_SCOPE } from '../identity/scopes.ts'
import { readDocumentSettings } from '../pipelines/document-settings.ts'
import { fetchDocument, FetchProblem } from './fetch-document.ts'

export interface Sourced extends ForBuild {
  readonly branch: string | undefined
  readonly revision: string | undefined
  /** True if the branch, revision and variables of the build may not select the document, because the caller who set them may not run commands. */
  readonly keepsDocument?: boolean | undefined
  /** The text of an earlier build, which is used instead of fetching it again. */
  readonly fetched?: string | undefined
}

/**
 * Compiles a document and the one that it refers to. If that is in a repository, the plan keeps its `source`, and its steps are added when the engine
 * has fetched them. Throws `request-invalid` if no revision is given, and `scope-missing` if only the build could select the document and may not.
 */
export async function compileSourced(
  app: App,
  source: Source,
  of: Sourced,
): Promise<Compiled & { readonly fetched?: string | undefined }> {
  const compiled = await compileForBuild(app, source, of)
  const location = compiled.plan?.source
  if (compiled.plan === undefined || location === undefined) return compiled
  if (of.fetched !== undefined) return compileFetched(app, { outer: compiled, file: fileOf(location), text: of.fetched }, of)
  if (location.location === 'git') return { ...compiled, plan: { ...compiled.plan, source: pin(location, of) } }
  const url = of.keepsDocument === true ? fill(location.url, of) : substitute(location.url, initialScope(of.variables)).text
  try {
    const text = await fetchDocument(url, { ...app.outbound, hosts: app.documentHosts })
    return await compileFetched(app, { outer: compiled, file: url, text }, of)
  } catch (error) {
    if (!(error instanceof FetchProblem)) throw error
    const problem = sourceProblem(source.file, `the document at ${url} cannot be fetched: ${error.message}`)
    return { ...without(compiled), problems: [...compiled.problems, problem] }
  }
}

function fileOf(source: DocumentSource): string {
  return source.location === 'git' ? source.path : source.url
}

/** Levels of variables that belong to the pipeline. The starter of a build sets none of them. */
const OWN_LEVELS: readonly VariableLevel[] = ['project', 'context', 'pipeline']

function ownLayers(layers: readonly VariableLayer[]): VariableLayer[] {
  return layers.filter(({ level }) => OWN_LEVELS.includes(level))
}

/** Substitutes the variables in a part of the location. Throws `request-invalid` or `scope-missing` if one has no value that may be used. */
function fill(text: string, { variables, keepsDocument }: Sourced): string {
  const layers = keepsDocument === true ? ownLayers(variables) : variables
  const { text: filled, unresolved } = substitute(text, initialScope(layers))
  const [name] = unresolved
  if (name === undefined) return filled
  if (keepsDocument === true)
    throw documentKept(
      `the variable "${name}" of its location has no value in the pipeline, its project or its contexts`,
      `Set "${name}" in \`spec.variables\` of the pipeline, or use a key with the scope.`,
    )
  throw fault('request-invalid', {
    message: `The location of the pipeline's document refers to the variable "${name}", which has no value.`,
    hint: `Set it with \`-v ${name}=VALUE\`.`,
  })
}

function documentKept(why: string, hint: string): Fault {
  return fault('scope-missing', {
    message: `The key cannot choose the document of the pipeline, because it does not have the scope ${COMMAND_SCOPE}, and ${why}.`,
    hint,
  })
}

/** Sets the revision: the pinned one, or that of the build. */
function pin(source: Extract<DocumentSource, { location: 'git' }>, of: Sourced): DocumentSource {
  const { branch, revision, keepsDocument } = of
  if (source.revision === undefined && keepsDocument === true)
    throw documentKept(
      'the document has no revision of its own',
      'Set `specTemplate.revision` in the pipeline, or use a key with the scope.',
    )
  const at = source.revision === undefined ? (revision ?? branch) : fill(source.revision, of)
  if (at === undefined || at === '') {
    throw fault('request-invalid', {
      message: `The steps of this pipeline are in ${source.path} of ${source.repo}, at the branch of its trigger. A manual run must name a branch or a commit.`,
      hint: 'Name a branch with `-b NAME` or a commit with `-s SHA`, or pin `specTemplate.revision`.',
    })
  }
  return { ...source, repo: fill(source.repo, of), path: fill(source.path, of), revision: at }
}

export interface Fetched {
  /** The pipeline's own document, which gets these steps. */
  readonly outer: Compiled
  readonly file: string
  readonly text: string
}

/**
 * Compiles a fetched document as the steps of `outer`. `fetched` is the text to store with the build. It is undefined for a document with errors, which
 * a repeated build fetches again.
 */
export async function compileFetched(
  app: App,
  { outer, file, text }: Fetched,
  of: ForBuild,
): Promise<Compiled & { fetched?: string | undefined }> {
  const inner = await compileAffordable(app, { text, file }, of)
  const nested =
    inner.plan?.source === undefined
      ? []
      : [sourceProblem(file, 'a document that a pipeline refers to must contain the steps itself')]
  const found = nested.length > 0 ? nested : inner.problems
  const problems = [...outer.problems, ...found]
  if (inner.plan === undefined || hasErrors(found)) return { problems, stepTypes: inner.stepTypes }
  const { fetched, problem } = await maskFetched(app, text, file)
  const resources = outer.plan?.externalResources ?? inner.plan.externalResources
  const plan: Plan = { ...inner.plan, ...defined({ externalResources: resources }) }
  return { plan, problems: [...problems, ...problem], stepTypes: inner.stepTypes, fetched }
}

/** Returns the text to store with the build, without the values of encrypted variables. A text that cannot be masked is not stored. */
async function maskFetched(
  app: App,
  text: string,
  file: string,
): Promise<{ fetched?: string | undefined; problem: readonly Diagnostic[] }> {
  try {
    return { fetched: (await readDocumentSettings(app, text, file)).masked, problem: [] }
  } catch (error) {
    if (isFault(error, 'document-too-expensive')) return { problem: [] }
    if (!isFault(error, 'request-invalid')) throw error
    return { problem: [sourceProblem(file, error.message)] }
  }
}

/** Compiles a document and reports `document-too-expensive` as one of its problems, because no caller waits for the response here. */
async function compileAffordable(app: App, source: Source, of: ForBuild): Promise<Compiled> {
  try {
    return await compileForBuild(app, source, of)
  } catch (error) {
    if (!isFault(error, 'document-too-expensive')) throw error
    const problem: Diagnostic = { ...sourceProblem(source.file, error.message), code: 'too-large', hint: error.hint }
    return { problems: [problem], stepTypes: [] }
  }
}

function without({ plan: _plan, ...rest }: Compiled): Compiled {
  return rest
}

function sourceProblem(file: string, message: string): Diagnostic {
  const place = { file, line: 1, column: 1, endLine: 1, endColumn: 1 }
  return { ...place, severity: 'error', code: 'document-source', message, hint: '', path: 'spec.specTemplate' }
}
