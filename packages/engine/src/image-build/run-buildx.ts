/** Runs the builder in the tools image and parses its result. */
import { readFileSync } from 'node:fs'
import type { ResolvedBuild } from '@windlass/plan'
import { z } from 'zod'
import type { StepRun } from '../attempt/context.ts'
import { INSIDE, outsideFailure, OUTSIDE, roots } from '../containers/inside.ts'
import { runTool } from '../containers/tool-container.ts'
import { toBuildFailure } from './build-failure.ts'
import { LABEL_CONTENT, type ContentKey } from './content.ts'
import { localCachePaths } from './local-caches.ts'
import { LayerCacheCounter, type LayerCache } from './layer-cache.ts'

const SCRIPT = `${INSIDE}\n${readFileSync(new URL('../steps/build.sh', import.meta.url), 'utf8')}`
/** Hashing more than this to skip a build costs more than it saves. Bytes. */
const MAX_CONTENT_BYTES = 1024 ** 3

export interface BuildxRun {
  readonly dockerfile: string
  /** Options of `docker buildx build`. */
  readonly options: readonly string[]
  /** Files of the shared volume that `options` name as `/run/windlass/source-0` and so on. */
  readonly sources: readonly string[]
  /** Files for the tmpfs of the container. */
  readonly files: Readonly<Record<string, string>>
  /** Container of a BuildKit daemon. Defaults to the builder in the Docker daemon. */
  readonly builder: string | undefined
  /** Use the classic builder, which is the only one that can squash. */
  readonly isClassic: boolean
  readonly content: ContentKey | undefined
  /** Content hashes of existing images. The build is skipped if one matches. */
  readonly known: readonly string[]
}

export interface BuildxEnd {
  /** Undefined if the content was not hashed. */
  readonly contentHash: string | undefined
  /** Undefined if `contentHash` is known and nothing was built. */
  readonly built: { readonly id: string; readonly digest: string | undefined; readonly cache: LayerCache } | undefined
}

const Metadata = z.looseObject({
  'containerimage.digest': z.string().optional(),
  'containerimage.config.digest': z.string().optional(),
})

/** Builds an image. Throws `StepFailure` if that fails. */
export async function runBuildx(run: StepRun<ResolvedBuild>, buildx: BuildxRun): Promise<BuildxEnd> {
  const { action, context } = run
  const { dockerfile, content } = buildx
  const counter = new LayerCacheCounter()
  const isQuiet = action.progress === 'quiet'
  const end = await runTool(run, {
    script: SCRIPT,
    environment: {
      ...roots(context),
      DIRECTORY: action.directory,
      DOCKERFILE: dockerfile,
      BUILDER: buildx.builder ?? '',
      CLASSIC: buildx.isClassic ? 'yes' : '',
      LABEL: LABEL_CONTENT,
      MAX_BYTES: String(MAX_CONTENT_BYTES),
    },
    secrets: {
      ...buildx.files,
      options: buildx.options.join('\0'),
      sources: buildx.sources.join('\0'),
      places: localCachePaths([...action.cacheFrom, ...action.cacheTo])
        .map((path) => (path.startsWith('/') ? path : `${action.directory}/${path}`))
        .join('\0'),
      ...(content !== undefined && {
        salt: content.salt,
        'visible.awk': content.visible,
        known: buildx.known.map((hash) => `${hash}\n`).join(''),
      }),
    },
    mounts: [{ type: 'bind', source: context.docker.socketPath, target: '/var/run/docker.sock', readOnly: false }],
    onStderr: (bytes) => counter.push(bytes),
    isQuiet,
  })
  if (end.exitCode === OUTSIDE) throw outsideFailure(end.tail)
  if (end.exitCode !== 0) {
    if (isQuiet) await run.output.write([{ source: 2, bytes: Buffer.from(end.tail) }], run.signal)
    throw toBuildFailure({ exitCode: end.exitCode, tail: end.tail, directory: action.directory, dockerfile })
  }
  const answer = readAnswer(end.result.toString('utf8'))
  const contentHash = answer.get('hash')
  if (answer.has('known')) return { contentHash, built: undefined }
  const metadata = Metadata.parse(JSON.parse(answer.get('metadata') ?? '{}'))
  const id = answer.get('id') ?? metadata['containerimage.config.digest'] ?? ''
  return { contentHash, built: { id, digest: metadata['containerimage.digest'], cache: counter.result } }
}

function readAnswer(text: string): Map<string, string> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const space = line.indexOf(' ')
        return [line.slice(0, space), line.slice(space + 1).trim()]
      }),
  )
}
