/**
 * The first phase of a build whose steps stand in a repository behind the firewall: the engine fetches the document, and whoever holds the
 * pipeline compiles it. The engine itself never reads YAML.
 */
import { isFault } from '@windlass/kit'
import { emptySnapshot, type DocumentSource } from '@windlass/plan'
import { SYSTEM_STREAM, type AttemptOutcome, type EngineDocumentAnswer } from '@windlass/protocol'
import { openStepOutput } from '../output/step-output.ts'
import { readGitFile } from '../steps/git-file.ts'
import { StepFailure } from './context.ts'
import type { AttemptInput, AttemptOptions } from './input.ts'
import { openContext } from './open-context.ts'
import { secretsOf } from './secrets.ts'

/** What to run, or why nothing runs. */
export type Resolved = { readonly input: AttemptInput } | { readonly outcome: AttemptOutcome }

/** Compiles a document: gives its plan, or says what is wrong with it. */
export type CompileDocument = (text: string) => Promise<EngineDocumentAnswer>

/** Does nothing for a plan that has its steps. Rejects when the daemon or whoever compiles is lost, or the attempt is stopped. */
export async function resolveDocument(options: AttemptOptions, compile: CompileDocument): Promise<Resolved> {
  const { input } = options
  const { source } = input.plan
  if (source?.location !== 'git') return { input }
  try {
    const { plan, message } = await compile(await fetchDocument(options, source))
    if (plan !== undefined) return { input: { ...input, plan, snapshot: emptySnapshot(plan) } }
    return { outcome: { status: 'error', reason: 'invalid-pipeline', message: message ?? 'The pipeline does not compile.' } }
  } catch (error) {
    if (options.signal.aborted) throw error
    if (error instanceof StepFailure) return { outcome: { status: 'error', reason: error.reason, message: sentence(error) } }
    if (isFault(error, 'docker-unreachable')) return { outcome: { status: 'error', reason: 'dind-lost', message: error.message } }
    throw error
  }
}

function sentence({ message, hint }: StepFailure): string {
  return hint === undefined ? message : `${message} ${hint}`
}

async function fetchDocument(options: AttemptOptions, source: Extract<DocumentSource, { location: 'git' }>): Promise<string> {
  const { input, journal, signal } = options
  const { limits } = input
  const output = openStepOutput({
    stream: journal.stream(SYSTEM_STREAM),
    secrets: secretsOf(input)(input.snapshot),
    limitBytes: limits.stepLogBytes,
    allowance: { left: limits.buildLogBytes },
  })
  const context = await openContext(options, signal)
  try {
    await output.say(`The steps are in ${source.path} of ${source.repo} at ${source.revision ?? 'its default branch'}.`)
    return await readGitFile(
      { context, output, signal, step: { name: 'document' } },
      { repo: source.repo, revision: source.revision, git: source.git, path: source.path },
    )
  } finally {
    await output.end()
    await Promise.all([...context.chores, context.namespaces.settled()])
    // Nothing of the build has run yet: its attempt begins with a volume as if this had not been.
    await context.workspace.close({ forget: true })
  }
}
