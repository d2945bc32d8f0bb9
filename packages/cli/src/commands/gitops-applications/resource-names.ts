/** Names of objects on the command line: `KIND/NAMESPACE/NAME`, or `KIND/NAME` for one without a namespace. The kind can have a group: `Deployment.apps`. */
import { fault } from '@windlass/kit/faults'

interface Named {
  readonly group?: string | undefined
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Returns the name of an object. */
export function nameOf({ kind, namespace, name }: Named): string {
  return [kind, namespace, name].filter((part) => part !== undefined && part !== '').join('/')
}

/** Returns a function that tells whether an object has a name, which can have `*` as wildcard. Throws `usage`. */
export function matcherOf(text: string): (object: Named) => boolean {
  const parts = text.split('/')
  const [kind = '', ...rest] = parts
  const [namespace, name] = rest.length === 1 ? ['', rest[0] ?? ''] : [rest[0] ?? '', rest[1] ?? '']
  if (parts.length > 3 || kind === '' || name === '')
    throw fault('usage', {
      message: `"${text}" does not name an object.`,
      hint: 'Write KIND/NAMESPACE/NAME, such as Deployment/shop/api.',
    })
  const isKind = patternOf(kind)
  const [isNamespace, isName] = [patternOf(namespace), patternOf(name)]
  return (object) => {
    const { group = '', kind: own } = object
    return (isKind(own) || isKind(`${own}.${group}`)) && isNamespace(object.namespace ?? '') && isName(object.name)
  }
}

/** Returns the objects that one of the names means, each once. Throws `not-found` for a name without an object. */
export function select<T extends Named>(objects: readonly T[], names: readonly string[]): T[] {
  const found = new Set<T>()
  for (const text of names) {
    const matching = objects.filter(matcherOf(text))
    if (matching.length === 0)
      throw fault('not-found', {
        message: `The application has no object "${text}".`,
        hint: 'List its objects with `windlass gitops app get RUNTIME NAME`.',
      })
    for (const object of matching) found.add(object)
  }
  return [...found]
}

function patternOf(text: string): (value: string) => boolean {
  const pattern = new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*')}$`,
  )
  return (value) => pattern.test(value)
}
