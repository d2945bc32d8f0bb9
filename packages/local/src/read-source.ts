/** Reads the document that a pipeline refers to with the access of this user: from a URL, or from a repository with the user's git. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fault } from '@windlass/kit'
import { buildScope, substitute, type DocumentSource, type Plan } from '@windlass/plan'
import { fetchDocument } from '@windlass/server'

const run = promisify(execFile)
const TIMEOUT_MS = 60_000
const MAX_BYTES = 1_048_576

export interface SourceFacts {
  readonly branch: string | undefined
  readonly revision: string | undefined
  /** Base URL that `owner/name` is appended to. */
  readonly host: string
}

/** Returns text and name of the document at `plan.source`; undefined if the plan has its own steps. Throws `document-unreachable`, `usage`. */
export async function readSource(plan: Plan, facts: SourceFacts): Promise<{ text: string; file: string } | undefined> {
  const { source } = plan
  if (source === undefined) return undefined
  const scope = buildScope({ plan, snapshot: { steps: {}, exports: [] } })
  const fill = (text: string): string => substitute(text, scope).text
  if (source.location === 'git') return readGit(source, { fill, facts })
  const url = fill(source.url)
  try {
    return {
      text: await fetchDocument(url, {
        hosts: URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : [],
        tellsCause: true,
      }),
      file: url,
    }
  } catch (error) {
    throw unreachable(`Cannot fetch the document at ${url}: ${error instanceof Error ? error.message : ''}`, error)
  }
}

async function readGit(
  source: Extract<DocumentSource, { location: 'git' }>,
  { fill, facts }: { fill: (text: string) => string; facts: SourceFacts },
): Promise<{ text: string; file: string }> {
  const revision = source.revision === undefined ? (facts.branch ?? facts.revision) : fill(source.revision)
  if (revision === undefined || revision === '')
    throw fault('usage', {
      message: `The steps of this pipeline are in ${source.path} of ${source.repo}, but no branch is known.`,
      hint: 'Specify a branch with -b, or set specTemplate.revision.',
    })
  const written = fill(source.repo)
  const repo = /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)+$/.test(written) ? `${facts.host}/${written}.git` : written
  const path = fill(source.path).replace(/^\/+/, '')
  const folder = await mkdtemp(join(tmpdir(), 'windlass-source-'))
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', ['-C', folder, ...args], { timeout: TIMEOUT_MS, maxBuffer: 2 * MAX_BYTES })).stdout
  try {
    await git('init', '--quiet')
    await git('fetch', '--quiet', '--depth=1', '--no-tags', '--end-of-options', repo, revision)
    return { text: await git('show', `FETCH_HEAD:${path}`), file: path }
  } catch (error) {
    const lastLine = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : ''
    throw unreachable(`Cannot read ${path} of ${written} at ${revision}: ${lastLine ?? ''}`, error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function unreachable(message: string, cause: unknown): Error {
  return fault('document-unreachable', { message }, cause)
}
