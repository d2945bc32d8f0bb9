/**
 * Characters that are invisible or change the direction of text: bidirectional controls, zero-width characters, and tags. A zero-width joiner between
 * pictographs is part of one, and is not among them.
 */
const MARKS =
  /(?<!\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?)\u200D|[\u00AD\u061C\u180E\u200B\u200C\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu

/** Characters among which all of them are. Most lines have none of these. */
const MAY_HAVE_MARKS = /[\u00AD\u061C-\uFFFF]/

/** Splits a text into such characters, each by itself, and the text between them. */
export function splitMarks(text: string): { text: string; isMark: boolean }[] {
  if (!MAY_HAVE_MARKS.test(text)) return text === '' ? [] : [{ text, isMark: false }]
  const parts: { text: string; isMark: boolean }[] = []
  let from = 0
  for (const { 0: mark, index } of text.matchAll(MARKS)) {
    if (index > from) parts.push({ text: text.slice(from, index), isMark: false })
    parts.push({ text: mark, isMark: true })
    from = index + mark.length
  }
  if (from < text.length) parts.push({ text: text.slice(from), isMark: false })
  return parts
}

/** Returns the name of a character, such as `U+202E`. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Returns a line in which control characters are visible: as Unicode control pictures, or as their code points. Tabs stay. */
export function showControls(line: string): string {
  // oxlint-disable-next-line no-control-regex
  return line.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, (character) => {
    const code = character.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '\u2421' : `<${code.toString(16).toUpperCase()}>`
  })
}
