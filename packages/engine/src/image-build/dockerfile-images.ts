/** Finds the images that a Dockerfile depends on, without building it (docs.docker.com, "Dockerfile reference"). */

export interface DockerfileImages {
  /** Unique names with arguments substituted. */
  readonly images: readonly string[]
  /** False if the result depends on more than context, arguments and these images: `ADD` of a URL, or an unknown name. */
  readonly isComplete: boolean
}

/** Reads FROM, COPY --from and RUN --mount of all stages. `buildArguments` are `KEY=VALUE` entries. */
export function readDockerfileImages(text: string, buildArguments: readonly string[]): DockerfileImages {
  const given = new Map(buildArguments.map(splitArgument))
  const globals = new Map<string, string>()
  const stages = new Set<string>()
  const images = new Set<string>()
  let isComplete = true
  const add = (name: string): void => {
    const filled = fill(name, globals)
    if (filled === undefined) isComplete = false
    else if (filled !== 'scratch' && !stages.has(filled.toLowerCase()) && !/^\d+$/.test(filled)) images.add(filled)
  }
  for (const line of instructionsOf(text)) {
    const [word = '', ...rest] = line.split(/\s+/)
    const instruction = word.toUpperCase()
    if (instruction === 'ARG' && stages.size === 0 && images.size === 0) {
      for (const argument of rest) {
        const [name, value] = splitArgument(argument)
        globals.set(name, given.get(name) ?? fill(unquote(value), globals) ?? '')
      }
    }
    if (instruction === 'FROM') {
      const words = rest.filter((part) => !part.startsWith('--'))
      add(words[0] ?? '')
      // An unnamed stage counts too: arguments after it are no longer global.
      stages.add(words[1]?.toLowerCase() === 'as' ? (words[2] ?? '').toLowerCase() : `#${stages.size}`)
    }
    if (instruction === 'COPY' || instruction === 'RUN') for (const name of otherImages(line)) add(name)
    if (instruction === 'ADD' && /\s(https?:|git@|git:|ssh:)/.test(line)) isComplete = false
  }
  const syntax = /^#\s*syntax\s*=\s*(\S+)/im.exec(text.slice(0, 2_000))?.[1]
  return { images: [...images, ...(syntax === undefined ? [] : [syntax])], isComplete: isComplete && stages.size > 0 }
}

/** Splits a Dockerfile into instructions, one per line, without comments and continuations. */
function instructionsOf(text: string): string[] {
  const escape = /^#\s*escape\s*=\s*`/im.test(text.slice(0, 2_000)) ? '`' : '\\'
  const lines: string[] = []
  let open = ''
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim()
    if (trimmed.startsWith('#') || (trimmed === '' && open !== '')) continue
    const isContinued = trimmed.endsWith(escape)
    open += isContinued ? `${trimmed.slice(0, -1)} ` : trimmed
    if (isContinued) continue
    if (open !== '') lines.push(open)
    open = ''
  }
  return open === '' ? lines : [...lines, open]
}

/** Returns `NAME` of `--from=NAME` (COPY) and `from=NAME` (mounts). */
function otherImages(line: string): string[] {
  const flags = line.split(/\s+/).filter((part) => part.startsWith('--'))
  return flags.flatMap((flag) => {
    const name = flag.startsWith('--from=')
      ? flag.slice('--from='.length)
      : flag.startsWith('--mount=')
        ? /[=,]from=([^,]+)/.exec(flag)?.[1]
        : undefined
    return name === undefined ? [] : [name]
  })
}

function splitArgument(argument: string): readonly [string, string] {
  const sign = argument.indexOf('=')
  return sign < 0 ? [argument, ''] : [argument.slice(0, sign), argument.slice(sign + 1)]
}

function unquote(value: string): string {
  return value.replace(/^(["'])(.*)\1$/, '$2')
}

/** Substitutes `$NAME`, `${NAME}`, `${NAME:-value}` and `${NAME:+value}`. Returns undefined if a name has no value. */
function fill(text: string, values: ReadonlyMap<string, string>): string | undefined {
  let isKnown = true
  const filled = text.replace(/\$(?:\{\w+(?::[-+][^}]*)?\}|\w+)/g, (reference) => {
    const [, name = '', sign, other = ''] = /^\$\{?(\w+)(?::([-+])([^}]*))?/.exec(reference) ?? []
    const value = values.get(name) ?? ''
    if (sign === '+') return value === '' ? '' : other
    if (value === '' && sign === undefined) isKnown = false
    return value === '' ? other : value
  })
  return isKnown && filled !== '' ? filled : undefined
}
