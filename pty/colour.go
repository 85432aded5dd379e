package pty

// RGB returns a colour's red, green and blue parts. Palette colours are xterm's defaults.
// It returns false for the terminal's default colour, which is not known here.
func (c Colour) RGB() (parts [3]uint8, ok bool) {
	value := int(c & 0xffffff)
	switch c &^ 0xffffff {
	case colourIndex:
		if value > 255 {
			return parts, false
		}
		value = paletteColour(value)
	case colourRGB:
	default:
		return parts, false
	}
	return [3]uint8{uint8(value >> 16), uint8(value >> 8), uint8(value)}, true
}
