import { VERSION } from '@windlass/plan/version'
import { fault } from '@windlass/kit/faults'
import { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { readInput } from '../../input/input-files.ts'
import { openSession } from '../../session/session.ts'

interface Options {
  readonly check: boolean
  readonly release: string | undefined
  readonly output: 'json' | undefined
}

interface Compared {
  readonly version: string
  /** URL of the server, or file of the release. */
  readonly source: string
  readonly matches: boolean
}

/** The fields of `images.json` that the command reads. */
const Release = z.object({ version: z.string() })

/** Runs `version --check`. Resolves to 1 if a version differs. */
export async function checkVersion({ options, out, settings }: Invocation<Options>): Promise<number> {
  const compared: Record<string, Compared> = {}
  if (options.check) {
    const { client, url } = openSession(settings)
    compared['server'] = compare((await client.server.status()).version, url)
  }
  if (options.release !== undefined) compared['release'] = compare(readRelease(options.release), options.release)
  const matches = Object.values(compared).every((each) => each.matches)
  if (options.output === 'json') out.line(JSON.stringify({ version: VERSION, node: process.versions.node, matches, ...compared }))
  else {
    const rows = Object.entries(compared).map(([name, found]) => [
      name,
      found.version,
      found.matches ? 'the same version' : 'another version',
      found.source,
    ])
    for (const line of alignColumns([['windlass', VERSION], ...rows])) out.line(line)
    if (!matches) out.note(`hint: Use version ${versionToUse(compared)} of windlass.`)
  }
  return matches ? EXIT.success : EXIT.failed
}

function compare(version: string, source: string): Compared {
  return { version, source, matches: version === VERSION }
}

function versionToUse({ server, release }: Readonly<Record<string, Compared>>): string {
  return [server, release].find((each) => each?.matches === false)?.version ?? VERSION
}

/** Returns the version of a release. Throws `file-not-found`, and `request-invalid` for another file. */
function readRelease(path: string): string {
  const { text } = readInput(path)
  try {
    return Release.parse(JSON.parse(text)).version
  } catch (error) {
    throw fault(
      'request-invalid',
      { message: `${path} is not the images.json of a release.`, hint: 'Name the file images.json of a release.' },
      error,
    )
  }
}
