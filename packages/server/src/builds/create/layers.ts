import type { Variable, VariableLayer } from '@windlass/plan'

type LayerId = Pick<VariableLayer, 'level' | 'source'>

/** Collects layers of variables. Values of secret variables are kept separately, by the names under which the plan refers to them. */
export class Layers {
  readonly layers: VariableLayer[] = []
  readonly secrets: Record<string, string> = {}

  add(id: LayerId, values: Readonly<Record<string, string>>): void {
    this.addMixed(
      id,
      Object.entries(values).map(([key, value]) => ({ key, value, encrypted: false })),
    )
  }

  addSecrets(id: LayerId, values: Readonly<Record<string, string>>): void {
    this.addMixed(
      id,
      Object.entries(values).map(([key, value]) => ({ key, value, encrypted: true })),
    )
  }

  addMixed(id: LayerId, list: readonly { key: string; value: string; encrypted: boolean }[]): void {
    if (list.length === 0) return
    const variables: Record<string, Variable> = {}
    for (const { key, value, encrypted } of list) {
      const name = [id.level, id.source, key].filter((part) => part !== undefined).join('/')
      if (encrypted) this.secrets[name] = value
      variables[key] = encrypted ? { secret: name } : { value }
    }
    this.layers.push({ ...id, variables })
  }
}
