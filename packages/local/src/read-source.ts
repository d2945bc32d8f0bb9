/** The document that a pipeline refers to, read as the user of this machine: behind a URL, or in a repository with the user's own git. */
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

/** Text and name of the document behind `plan.source`; undefined when the plan has its steps. Throws `document-unreachable`, `usage`. */
export async function readSource(plan: Plan, facts: SourceFacts): Promise<{ text: string; file: string } | undefined> {
  const { source } = plan
  if (source === undefined) return undefined
  const scope = buildScope({ plan, snapshot: { steps: {}, exports: [] } })
  const fill = (text: string): string => substitute(text, scope).text
  if (source.location === 'git') return readGit(source, { fill, facts })
  const url = fill(source.url)
  try {
    return {
      text: await fetchDocument(url, { hosts: URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : [] }),
      file: url,
    }
  } catch (error) {
    throw unreachable(`The document at ${url} cannot be fetched: ${error instanceof Error ? error.message : ''}`, error)
  }
}

async function readGit(
  source: Extract<DocumentSource, { location: 'git' }>,
  { fill, facts }: { fill: (text: string) => string; facts: SourceFacts },
): Promise<{ text: string; file: string }> {
  const revision = source.revision === undefined ? (facts.branch ?? facts.revision) : fill(source.revision)
  if (revision === undefined || revision === '')
    throw fault('usage', {
      message: `The steps of this pipeline are in ${source.path} of ${source.repo}: at which branch?`,
      hint: 'Name one with -b, or pin specTemplate.revision.',
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
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : ''
    throw unreachable(`${path} of ${written} at ${revision} cannot be read: ${said ?? ''}`, error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function unreachable(message: string, cause: unknown): Error {
  return fault('document-unreachable', { message }, cause)
}
