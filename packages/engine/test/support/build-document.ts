/** Documents for tests of build steps: the first step writes a Dockerfile into the volume, the second one builds it. */
import { newId } from '@windlass/kit'
import { deleteImage } from './make-image.ts'

export interface BuildDocument {
  readonly text: string
  /** Of the image. */
  readonly name: string
}

export interface BuildDocumentOptions {
  readonly dockerfile: readonly string[]
  /** Commands that make further files, in the folder `app`. */
  readonly commands?: readonly string[]
  /** Fields of the step `build`, as YAML with four spaces in front. */
  readonly fields?: string
  /** Further steps, as YAML with two spaces in front. */
  readonly more?: string
  readonly name?: string
}

const made = new Set<string>()

/** Line by line through `printf`, so that nothing in it means anything to a shell. */
export function buildDocument({ dockerfile, commands = [], fields = '', more = '', name }: BuildDocumentOptions): BuildDocument {
  const image = name ?? `windlass-test/${newId(Date.now())}`
  made.add(image)
  const lines = dockerfile.map((line) => `'${line.replaceAll("'", `'"'"'`)}'`).join(' ')
  const all = ['mkdir -p app && cd app', 'echo content > file', `printf '%s\\n' ${lines} > Dockerfile`, ...commands]
  return {
    name: image,
    text: `
version: '1.0'
steps:
  write:
    image: $SHELL
    commands:
${all.map((command) => `      - ${JSON.stringify(command)}`).join('\n')}
  build:
    type: build
    image_name: ${image}
    working_directory: app
${fields}
${more}
`,
  }
}

/** Removes every image that a document here was named after. */
export async function deleteMadeImages(): Promise<void> {
  for (const name of made) await deleteImage(name).catch(() => undefined)
  made.clear()
}
