/** The few elements that answers of AWS' query APIs are read for. They are made by machine: no attributes, no comments, no CDATA. */

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" }

/** Text of the first element of this name, or undefined. */
export function textOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text?.replace(/&(?:amp|lt|gt|quot|apos);/g, (entity) => ENTITIES[entity] ?? entity)
}

/** The `item` elements of a list, as XML; items do not nest directly in items of the same list. */
export function itemsOf(xml: string, list: string): string[] {
  const inner = new RegExp(`<${list}>([\\s\\S]*)</${list}>`).exec(xml)?.[1] ?? ''
  const items: string[] = []
  let depth = 0
  let start = 0
  for (const tag of inner.matchAll(/<(\/?)item>/g)) {
    if (tag[1] === '' && depth++ === 0) start = tag.index + tag[0].length
    if (tag[1] === '/' && --depth === 0) items.push(inner.slice(start, tag.index))
  }
  return items
}

/** Code and sentence of an error answer. */
export function readXmlError(body: string): { code: string; message: string } {
  return { code: textOf(body, 'Code') ?? 'error', message: textOf(body, 'Message') ?? body.slice(0, 300) }
}
