/** Documents for tests of build steps: the first step writes a Dockerfile to the volume, the second one builds it. */
import { newId } from '@windlass/kit'
import { removeImages } from '../../../../e2e/support/leftovers.ts'

export interface BuildDocument {
  readonly text: string
  /** Name of the image. */
  readonly name: string
}

export interface BuildDocumentOptions {
  readonly dockerfile: readonly string[]
  /** Commands that create further files in the folder `app`. */
  readonly commands?: readonly string[]
  /** Fields of the step `build` as YAML, indented by four. */
  readonly fields?: string
  /** Further steps as YAML, indented by two. */
  readonly more?: string
  readonly name?: string
}

const made = new Set<string>()

/** Creates a document. Each line goes through `printf`, so that a shell does not interpret it. */
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

/** Removes every image of these documents with all its tags. */
export async function deleteMadeImages(): Promise<void> {
  await removeImages((repository) => made.has(repository))
  made.clear()
}
