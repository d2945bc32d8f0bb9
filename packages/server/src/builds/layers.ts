import type { Variable, VariableLayer } from '@windlass/plan'

type LayerPlace = Pick<VariableLayer, 'level' | 'source'>

/** Layers of variables, and the values of the secret ones apart, under the names by which the plan refers to them. */
export class Layers {
  readonly layers: VariableLayer[] = []
  readonly secrets: Record<string, string> = {}

  add(place: LayerPlace, values: Readonly<Record<string, string>>): void {
    this.addMixed(
      place,
      Object.entries(values).map(([key, value]) => ({ key, value, encrypted: false })),
    )
  }

  addSecrets(place: LayerPlace, values: Readonly<Record<string, string>>): void {
    this.addMixed(
      place,
      Object.entries(values).map(([key, value]) => ({ key, value, encrypted: true })),
    )
  }

  addMixed(place: LayerPlace, list: readonly { key: string; value: string; encrypted: boolean }[]): void {
    if (list.length === 0) return
    const variables: Record<string, Variable> = {}
    for (const { key, value, encrypted } of list) {
      const name = [place.level, place.source, key].filter((part) => part !== undefined).join('/')
      if (encrypted) this.secrets[name] = value
      variables[key] = encrypted ? { secret: name } : { value }
    }
    this.layers.push({ ...place, variables })
  }
}
