/** The filters of the list of deliveries, as the address has them and as the server takes them. */

export const OUTCOMES = ['built', 'nothing', 'refused', 'failed', 'received'] as const
export type Outcome = (typeof OUTCOMES)[number]

const TEXTS = ['repo', 'branch', 'webhook', 'pipeline', 'reason'] as const
export type TextFilter = (typeof TEXTS)[number]

/** All filters must match. */
export type DeliveryFilter = { readonly [K in TextFilter]?: string } & { readonly outcome?: Outcome }

/** Reads the filters of an address. Ignores what is not a filter. */
export function readDeliveryFilter(search: string): DeliveryFilter {
  const params = new URLSearchParams(search)
  const outcome = OUTCOMES.find((one) => one === params.get('outcome'))
  const texts = TEXTS.flatMap((name) => {
    const value = params.get(name)?.trim() ?? ''
    return value === '' ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(texts), ...(outcome !== undefined && { outcome }) }
}

/** Writes filters as the query of an address, with `?`, or as an empty text. */
export function writeDeliveryFilter(filter: DeliveryFilter): string {
  const params = new URLSearchParams()
  for (const name of ['outcome', ...TEXTS] as const) if (filter[name] !== undefined) params.set(name, filter[name])
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** Returns the query of `GET /v1/deliveries`. */
export function toDeliveryQuery({ outcome, ...texts }: DeliveryFilter): Readonly<Record<string, never>> {
  const status = outcome === 'refused' || outcome === 'failed' || outcome === 'received' ? { status: outcome } : {}
  // A delivery that was refused or that failed has a reason, too: those have buttons of their own.
  const built = outcome === 'built' ? { built: 'true' } : outcome === 'nothing' ? { built: 'false', status: 'processed' } : {}
  // The server checks the values: an address may hold any text.
  return { ...texts, ...status, ...built } as unknown as Readonly<Record<string, never>>
}
