/** Runs the builder in the tools image, and reads what it answers. */
import { readFileSync } from 'node:fs'
import type { ResolvedBuild } from '@windlass/plan'
import { z } from 'zod'
import type { StepRun } from '../attempt/context.ts'
import { runTool } from '../steps/tool-container.ts'
import { toBuildFailure } from './build-failure.ts'
import { LABEL_CONTENT, type ContentKey } from './content.ts'
import { LayerCacheCounter, type LayerCache } from './layer-cache.ts'

const SCRIPT = readFileSync(new URL('../steps/build.sh', import.meta.url), 'utf8')
/** Reading more than that to find out whether a build is needed costs more than it saves. */
const MAX_CONTENT_BYTES = 1024 ** 3

export interface BuildxRun {
  readonly dockerfile: string
  /** Of `docker buildx build`. */
  readonly options: readonly string[]
  /** For its memory. */
  readonly files: Readonly<Record<string, string>>
  /** Container of a BuildKit daemon; the one inside the Docker daemon when absent. */
  readonly builder: string | undefined
  /** The builder before BuildKit, which alone can squash. */
  readonly isClassic: boolean
  readonly content: ContentKey | undefined
  /** Hashes that stop the build: their images are there already. */
  readonly known: readonly string[]
}

export interface BuildxEnd {
  /** Undefined when the content was not looked at. */
  readonly contentHash: string | undefined
  /** Undefined when `contentHash` is known and nothing was built. */
  readonly built: { readonly id: string; readonly digest: string | undefined; readonly cache: LayerCache } | undefined
}

const Metadata = z.looseObject({
  'containerimage.digest': z.string().optional(),
  'containerimage.config.digest': z.string().optional(),
})

/** Throws `StepFailure` when the image cannot be built. */
export async function runBuildx(run: StepRun<ResolvedBuild>, buildx: BuildxRun): Promise<BuildxEnd> {
  const { action, context } = run
  const { dockerfile, content } = buildx
  const counter = new LayerCacheCounter()
  const isQuiet = action.progress === 'quiet'
  const end = await runTool(run, {
    script: SCRIPT,
    environment: {
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
      ...(content !== undefined && {
        salt: content.salt,
        'visible.awk': content.visible,
        known: buildx.known.map((hash) => `${hash}\n`).join(''),
      }),
    },
    mounts: [{ type: 'bind', source: context.docker.socketPath, target: '/var/run/docker.sock', readOnly: false }],
    onSaid: (bytes) => counter.push(bytes),
    isQuiet,
  })
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
