/**
 * Resolves the plan of a build whose document is in a repository behind the firewall: the engine fetches the document, and the server or the CLI
 * compiles it. The engine never reads YAML.
 */
import { isFault } from '@windlass/kit'
import { emptySnapshot, type DocumentSource } from '@windlass/plan'
import { SYSTEM_STREAM, type AttemptOutcome, type EngineDocumentAnswer } from '@windlass/protocol'
import { openStepOutput } from '../output/step-output.ts'
import { readGitFile } from '../git/git-file.ts'
import type { AttemptInput, AttemptOptions } from '../attempt/input.ts'
import { openContext } from './open-context.ts'
import { messageOf, reasonOf } from './reason-of.ts'
import { secretsOf } from '../secrets/secrets.ts'

/** What to run, or the outcome if nothing can run. */
export type Resolved = { readonly input: AttemptInput } | { readonly outcome: AttemptOutcome }

/** Compiles a document. Returns its plan or an error message. */
export type CompileDocument = (text: string) => Promise<EngineDocumentAnswer>

/** Returns the input unchanged if its plan has steps. Rejects if the compiler is lost, or the attempt is stopped. */
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
    const reason = reasonOf(error)
    // Errors of the server and bugs are for the caller. A refusal by the daemon is neither.
    if (!(error instanceof Error) || (reason === 'internal' && !isFault(error, 'docker-refused'))) throw error
    return { outcome: { status: 'error', reason, message: messageOf(error) } }
  }
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
  const context = await openContext(options, {
    end: signal,
    stop: signal,
    redact: (text) => output.redact(text),
    say: (line) => output.say(line),
  })
  try {
    await output.say(`The steps are in ${source.path} of ${source.repo} at ${source.revision ?? 'its default branch'}.`)
    return await readGitFile(
      { context, output, signal, step: { name: 'document' } },
      { repo: source.repo, revision: source.revision, git: source.git, path: source.path },
    )
  } finally {
    await output.end()
    await Promise.all([...context.cleanups, context.namespaces.settled()])
    // No step of the build has run yet, so its attempt must start with a fresh volume.
    await context.workspace.close({ forget: true })
  }
}
