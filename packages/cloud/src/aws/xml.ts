/** Reads elements of XML responses of AWS and compatible stores. They are generated, without attributes, comments or CDATA. */

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" }

/** Returns the text of the first element with this name, or undefined. */
export function textOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text?.replace(/&(?:amp|lt|gt|quot|apos);/g, (entity) => ENTITIES[entity] ?? entity)
}

/** Returns the content of all elements with this name, as XML. Elements with this name must not nest. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map((match) => match[1] ?? '')
}

/** Returns the `item` elements of a list as XML; items do not nest directly in items of the same list. */
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

/** Reads code and message of an error answer. */
export function readXmlError(body: string): { code: string; message: string } {
  return { code: textOf(body, 'Code') ?? 'error', message: textOf(body, 'Message') ?? body.slice(0, 300) }
}
